/** Options of sessions: checks, and files of external data. */
import { Error } from "../engine/core/throwing/builtin_errors.ts";
import { placeOf } from "../library/io/files.ts";
import type { FileSource } from "../library/io/source.ts";
import type { DataLocation } from "./tensor_types.ts";
import type { SessionOptions } from "./session_types.ts";

const LEVELS: readonly unknown[] = ["disabled", "basic", "extended", "layout", "all"];
const MODES: readonly unknown[] = ["sequential", "parallel"];

/** Throws `Error` for values that onnxruntime refuses. */
export function checkOptions(options: SessionOptions): void {
  const { graphOptimizationLevel: level, executionMode: mode } = options;
  const { logSeverityLevel: severity = 2, logVerbosityLevel: verbosity = 0 } = options;
  if (level !== undefined && !LEVELS.includes(level)) {
    throw new Error(`unsupported graph optimization level: ${level}`);
  }
  if (mode !== undefined && !MODES.includes(mode)) {
    throw new Error(`unsupported execution mode: ${mode}`);
  }
  if (!Number.isInteger(severity) || severity < 0 || severity > 4) {
    throw new Error(`log severity level is not valid: ${severity}`);
  }
  if (!Number.isInteger(verbosity) || verbosity < 0) {
    throw new Error(`log verbosity level is not valid: ${verbosity}`);
  }
}

/** Returns the wanted place of an output. Throws `Error` for a place that Weft does not have. */
export function outputLocation(
  { preferredOutputLocation: wanted }: SessionOptions,
  name: string,
): DataLocation {
  const location = typeof wanted === "string" ? wanted : wanted?.[name] ?? "cpu";
  if (["cpu", "cpu-pinned", "gpu-buffer"].includes(location)) return location;
  throw new Error(`Not supported preferred output location: ${location}.`);
}

/** Returns the given files of external data by the names that models have for them. */
export async function externalFiles(
  files: SessionOptions["externalData"],
): Promise<Record<string, FileSource>> {
  const found: Record<string, FileSource> = {};
  for (const file of files ?? []) {
    const { path, data } = typeof file === "string" ? { path: file, data: file } : file;
    const source = typeof data === "string" ? placeOf(data) : await bytesOf(data);
    // Models name files of their own folder.
    found[path.replace(/^\.\//, "")] = source;
  }
  return found;
}

async function bytesOf(data: Uint8Array | ArrayBuffer | Blob): Promise<Uint8Array> {
  if (data instanceof Uint8Array) return data;
  return new Uint8Array(data instanceof Blob ? await data.arrayBuffer() : data);
}
