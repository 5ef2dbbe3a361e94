/**
 * The file system, where there is one, through Node's functions, which Deno has too: reading in pieces, listing.
 */
import { NotFoundError } from "../../engine/core/errors.ts";
import type { Bytes } from "./bytes.ts";
import { fileError, fileOf, nodeFiles } from "./files.ts";

interface FileHandle {
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number }>;
  close(): Promise<void>;
}

interface DirectoryEntry {
  readonly name: string;
  isDirectory(): boolean;
}

/** The used part of `node:fs/promises`. */
interface FileSystem {
  open(path: string, flags: string): Promise<FileHandle>;
  readdir(path: string, options: { withFileTypes: true }): Promise<DirectoryEntry[]>;
  stat(path: string): Promise<{ readonly size: number }>;
}

async function openFile(path: string | URL): Promise<FileHandle> {
  const file = fileOf(path), fs = await nodeFiles<FileSystem>();
  try {
    return await fs.open(file, "r");
  } catch (error) {
    throw fileError(error, `read ${path}`, "file");
  }
}

/** Bytes of one read. */
const CHUNK = 1 << 18;

/** Reads a file in pieces, from `start`. Rejects with `NotFoundError` where there is none, `FailedPreconditionError` for a folder. */
export async function* fileChunks(path: string | URL, start = 0): AsyncGenerator<Bytes> {
  const file = await openFile(path);
  try {
    for (let at = start;;) {
      const buffer = new Uint8Array(CHUNK);
      // Folders can be opened, and not read.
      const { bytesRead } = await file.read(buffer, 0, CHUNK, at).catch((cause) => {
        throw fileError(cause, `read ${path}`, "file");
      });
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Runs `look` on the file system; returns undefined where the file does not exist. */
async function found<T>(
  look: (fs: FileSystem) => Promise<T>,
  path: string,
): Promise<T | undefined> {
  const fs = await nodeFiles<FileSystem>();
  try {
    return await look(fs);
  } catch (cause) {
    const error = fileError(cause, `read ${path}`, "file");
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

export async function fileExists(path: string): Promise<boolean> {
  return await found((fs) => fs.stat(path), path) !== undefined;
}

/**
 * Lists the paths that match a pattern, sorted. `*` and `?` match in one name, `[abc]` one of some characters, `{a,b}`
 * one of some texts, `**` any folders.
 */
export async function matchFiles(pattern: string): Promise<string[]> {
  const paths: string[] = [];
  const visit = async (folder: string, parts: readonly string[]): Promise<void> => {
    const [part, ...rest] = parts;
    if (part === undefined) return;
    const join = (name: string): string =>
      folder === "" || folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;
    if (!/[*?[{]/.test(part)) {
      const path = join(part);
      if (rest.length > 0) await visit(path, rest);
      else if (await fileExists(path)) paths.push(path);
      return;
    }
    const place = folder === "" ? "." : folder;
    const entries = await found((fs) => fs.readdir(place, { withFileTypes: true }), place);
    if (entries === undefined) return;
    if (part === "**") await visit(folder, rest);
    const fits = part === "**" ? /^[^.]/ : nameExpression(part);
    for (const entry of entries) {
      if (!fits.test(entry.name)) continue;
      const path = join(entry.name);
      if (part === "**") {
        if (entry.isDirectory()) await visit(path, parts);
      } else if (rest.length > 0) await visit(path, rest);
      else if (!entry.isDirectory()) paths.push(path);
    }
  };
  const parts = pattern.split("/").filter((part) => part !== "");
  await visit(pattern.startsWith("/") ? "/" : "", parts);
  return [...new Set(paths)].sort();
}

/** Makes the expression of the names that match a part of a pattern. */
function nameExpression(part: string): RegExp {
  const text = part.replace(/\*|\?|\[[^\]]*\]|\{[^}]*\}|[^*?[{]/g, (piece) => {
    if (piece === "*") return "[^/]*";
    if (piece === "?") return "[^/]";
    if (piece.length > 1 && piece[0] === "[") {
      return `[${piece.slice(1, -1).replace(/^!/, "^").replace(/[\\[]/g, "\\$&")}]`;
    }
    if (piece.length > 1 && piece[0] === "{") {
      return `(?:${piece.slice(1, -1).split(",").map(escapeText).join("|")})`;
    }
    return escapeText(piece);
  });
  // Hidden files match only a pattern that begins with a dot.
  return new RegExp(`^${part.startsWith(".") ? "" : "(?!\\.)"}${text}$`, "u");
}

function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** The module that writes files, for code that pages load too: they write none. */
export const fileWriter = (): Promise<typeof import("./file_writer.ts")> =>
  import("./file_writer.ts");
