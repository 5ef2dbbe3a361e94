/** Opens a model's source: whole, or as bytes one after another where it may be too large for that. */
import { ByteFlow } from "./byte_flow.ts";
import { fileOf } from "../../library/io/files.ts";
import { openParts } from "../../library/io/random_access.ts";
import {
  asUrl,
  type FileSource,
  openDownload,
  readSource,
  type SourceOptions,
} from "../../library/io/source.ts";

/** A source: its bytes, or the flow of them. */
export interface OpenedSource {
  /** Name in errors. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Absent where `bytes` has them all. */
  readonly flow: ByteFlow | null;
  close(): Promise<void>;
}

/** Files of fewer bytes are read whole. */
const SMALL = 1 << 20;

const NONE = new Uint8Array();

/** Opens a source. Rejects as `readSource` does. */
export async function openSource(
  source: FileSource,
  options: SourceOptions,
): Promise<OpenedSource> {
  if (source instanceof ReadableStream) return ofStream(source, options.signal);
  if (typeof source === "string" || source instanceof URL) {
    const url = asUrl(source);
    if (url === null) {
      const file = await openParts(fileOf(source));
      if (file.size >= SMALL) {
        const name = String(source), close = () => file.close();
        return { name, bytes: NONE, flow: ByteFlow.ofFile(file), close };
      }
      await file.close();
    } else if (url.protocol.startsWith("http")) {
      const { pull, length } = await openDownload(url, options);
      return {
        name: url.href,
        bytes: NONE,
        flow: ByteFlow.ofStream(pull, length),
        close: () => Promise.resolve(),
      };
    }
  }
  const { bytes, name } = await readSource(source, options);
  return { name, bytes, flow: null, close: () => Promise.resolve() };
}

function ofStream(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): OpenedSource {
  const reader = stream.getReader();
  const flow = ByteFlow.ofStream(async () => {
    signal?.throwIfAborted();
    return (await reader.read()).value ?? null;
  });
  return {
    name: "a stream",
    bytes: NONE,
    flow,
    // What is left of it after an error is not wanted.
    close: async () => await reader.cancel().catch(() => {}),
  };
}
