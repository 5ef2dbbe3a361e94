/** WAV files of 16 bits a sample as arrays, and back. */
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { type Bytes, viewOf } from "./bytes.ts";

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

/**
 * Encodes samples of shape `[samples, channels]`, from -1 to 1, as a WAV of 16 bits a sample; what is beyond is clipped. Throws
 * `InvalidArgumentError` for other shapes and for a rate below 1.
 */
export function encodeWav(audio: NdArray, sampleRate: number): Bytes {
  const fail = (why: string): never => {
    throw new InvalidArgumentError(`Cannot encode a WAV: ${why}`, { op: "EncodeWav" });
  };
  if (audio.rank !== 2) fail(`audio must be 2-dimensional, received shape [${audio.shape}]`);
  const [samples, channels] = audio.shape;
  if (channels < 1 || channels > 1024) {
    fail(`audio must have 1 to 1024 channels, received ${channels}`);
  }
  if (!(sampleRate > 0)) fail(`sampleRate must be above 0, received ${sampleRate}`);
  const size = 2 * samples * channels, bytes = new Uint8Array(44 + size), view = viewOf(bytes);
  const text = (at: number, letters: string): void =>
    [...letters].forEach((c, i) => bytes[at + i] = c.charCodeAt(0));
  text(0, "RIFF");
  view.setUint32(4, 36 + size, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, 2 * sampleRate * channels, true);
  view.setUint16(32, 2 * channels, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, size, true);
  for (let i = 0; i < samples * channels; i++) {
    const x = Number(audio.at(i)) * 32768, whole = Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
    view.setInt16(44 + 2 * i, Math.max(-32768, Math.min(32767, whole)), true);
  }
  return bytes;
}
