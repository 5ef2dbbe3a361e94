/** State files in protobuf's text form. */
import type { CheckpointState } from "./state.ts";

function isAbsolute(path: string): boolean {
  return /^([\\/]|[A-Za-z]:)/.test(path);
}

/** Reads a state from its text; `base` is the folder of the file. Null where it names no checkpoint. */
export function readState(text: string, base: string): CheckpointState | null {
  const paths = (key: string): string[] =>
    [...text.matchAll(
      new RegExp(`^\\s*${key}:\\s*("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')`, "gm"),
    )]
      .map(([, quoted]) => unquoted(quoted)).map((p) => isAbsolute(p) ? p : base + p);
  const numbers = (key: string): number[] =>
    [...text.matchAll(new RegExp(`^\\s*${key}:\\s*([-+.\\deE]+)`, "gm"))].map(([, n]) => Number(n));
  const [latest] = paths("model_checkpoint_path");
  if (latest === undefined) return null;
  const all = paths("all_model_checkpoint_paths");
  return {
    latest,
    all: all.at(-1) === latest ? all : [...all, latest],
    times: numbers("all_model_checkpoint_timestamps"),
    preserved: numbers("last_preserved_timestamp")[0],
  };
}

/** Returns the text of the state file in a folder: paths as given, or relative to it. */
export function writtenState(
  folder: string,
  { latest, all, times, preserved }: CheckpointState,
  relative: boolean,
): string {
  const line = (key: string, p: string): string => {
    const isBeside = p.startsWith(folder) && !/[\\/]/.test(p.slice(folder.length)) &&
      (relative || !isAbsolute(p));
    return `${key}: ${quoted(isBeside ? p.slice(folder.length) : p)}\n`;
  };
  return [
    line("model_checkpoint_path", latest),
    ...all.map((p) => line("all_model_checkpoint_paths", p)),
    ...times.map((t) => `all_model_checkpoint_timestamps: ${t}\n`),
    preserved === undefined ? "" : `last_preserved_timestamp: ${preserved}\n`,
  ].join("");
}

/** Quotes a text for protobuf's text form: bytes beyond ASCII in octal. */
function quoted(text: string): string {
  let out = "";
  for (const byte of new TextEncoder().encode(text)) {
    if (byte === 0x22 || byte === 0x5c) out += `\\${String.fromCharCode(byte)}`;
    else if (byte >= 32 && byte < 127) out += String.fromCharCode(byte);
    else out += `\\${byte.toString(8).padStart(3, "0")}`;
  }
  return `"${out}"`;
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9 };

function unquoted(text: string): string {
  const bytes: number[] = [];
  const inside = text.slice(1, -1);
  for (const [, escape, plain] of inside.matchAll(/\\([0-7]{1,3}|x[\da-fA-F]{1,2}|.)|([^\\]+)/gs)) {
    if (plain !== undefined) bytes.push(...new TextEncoder().encode(plain));
    else if (/^[0-7]/.test(escape)) bytes.push(parseInt(escape, 8));
    else if (/^x./.test(escape)) bytes.push(parseInt(escape.slice(1), 16));
    else bytes.push(ESCAPES[escape] ?? escape.charCodeAt(0));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
