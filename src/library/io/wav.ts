/** WAV files of 16 bits a sample as arrays. */
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { viewOf } from "./bytes.ts";

/** A sound: samples from -1 to 1 of shape `[samples, channels]`, and their rate in a second. */
export interface Sound {
  readonly audio: NdArray;
  readonly sampleRate: number;
}

/** Requested numbers of channels and samples, -1 for the file's own. */
export interface SoundSize {
  readonly channels: number;
  readonly samples: number;
}

/**
 * Decodes a sound. Missing samples are silence, missing channels repeat the last. Throws `InvalidArgumentError` for
 * bytes that are no WAV of 16 bits.
 */
export function decodeWav(bytes: Uint8Array, { channels, samples }: SoundSize): Sound {
  const fail = (why: string): never => {
    throw new InvalidArgumentError(`Invalid WAV data: ${why}`, { op: "DecodeWav" });
  };
  const view = viewOf(bytes);
  const text = (at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 12 || text(0) !== "RIFF" || text(8) !== "WAVE") {
    fail("it does not begin as a WAV does");
  }
  let format: { readonly channels: number; readonly rate: number } | null = null;
  for (let at = 12; at + 8 <= bytes.length;) {
    const type = text(at), length = view.getUint32(at + 4, true), from = at + 8;
    if (type === "fmt ") {
      if (length < 16 || from + length > bytes.length) fail("its format is cut off");
      const kind = view.getUint16(from, true), bits = view.getUint16(from + 14, true);
      if ((kind !== 1 && kind !== 0xfffe) || bits !== 16) {
        fail(`its samples are of kind ${kind} and ${bits} bits, wanted PCM of 16 bits`);
      }
      format = { channels: view.getUint16(from + 2, true), rate: view.getUint32(from + 4, true) };
      if (format.channels === 0) fail("it has no channels");
    } else if (type === "data") {
      if (format === null) return fail("it has no format");
      if (from + length > bytes.length) {
        fail(`${bytes.length - from} of its ${length} bytes of samples are there`);
      }
      const { channels: own, rate } = format;
      const have = Math.floor(length / (2 * own));
      const wanted = samples === -1 ? have : samples, n = channels === -1 ? own : channels;
      const out = new Float32Array(wanted * n);
      for (let i = 0; i < Math.min(have, wanted); i++) {
        for (let c = 0; c < n; c++) {
          const k = c < own ? c : own - 1;
          out[i * n + c] = view.getInt16(from + 2 * (i * own + k), true) / 32768;
        }
      }
      return { audio: new NdArray("float32", [wanted, n], out), sampleRate: rate };
    }
    at = from + length + (length & 1);
  }
  return fail("it has no samples");
}
