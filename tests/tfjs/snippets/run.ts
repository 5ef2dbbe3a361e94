/**
 * Child process of tests/tfjs/snippets/main.ts: runs snippets one after another on one library, and prints what each wrote.
 */
import { toFileUrl } from "../../../tools/paths.ts";
import type { Any } from "../examples/types.ts";

/** A snippet of a doc comment. */
export interface Snippet {
  /** Package, file and number within it. */
  readonly name: string;
  /** Its code. */
  readonly code: string;
}

/** The output of one library, or its error. */
export interface Written {
  readonly lines: readonly string[];
  readonly error: string | null;
}

/** The mark of a line with a result. */
export const WRITTEN = "\u0001written ";
const TIMEOUT_MS = 10_000;

/** Returns the text of a value of either library. */
function textOf(value: Any, depth = 0): string {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object") return String(value);
  if (depth > 3) return "…";
  if (typeof value.dataSync === "function") {
    return `Tensor ${value.dtype} [${value.shape}] ${Array.from(value.dataSync())}`;
  }
  if (ArrayBuffer.isView(value) || Array.isArray(value)) {
    return `[${Array.from(value as Any, (item) => textOf(item, depth + 1)).join(", ")}]`;
  }
  const entries = Object.entries(value).filter(([, v]) => typeof v !== "function").sort();
  return `{${entries.map(([key, v]) => `${key}: ${textOf(v, depth + 1)}`).join(", ")}}`;
}

async function runSnippet(tf: Any, code: string): Promise<Written> {
  const lines: string[] = [];
  const log = (...values: unknown[]) => void lines.push(values.map((v) => textOf(v)).join(" "));
  const kept = { ...console };
  Object.assign(console, { log, table: log, info: log, warn: () => {}, error: () => {} });
  const AsyncFunction = (async () => {}).constructor as Any;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("It did not end")), TIMEOUT_MS);
    });
    await Promise.race([AsyncFunction("tf", code)(tf), late]);
    // Snippets start what they do not await.
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { lines, error: null };
  } catch (error) {
    return { lines, error: String(error instanceof Error ? error.message : error) };
  } finally {
    clearTimeout(timer);
    Object.assign(console, kept);
    tf.disposeVariables();
  }
}

async function main([union, list, seed]: string[]): Promise<void> {
  const { tf } = await import(toFileUrl(union).href);
  await tf.setBackend("cpu");
  globalThis.fetch = () => Promise.resolve(new Response("Not found", { status: 404 }));
  globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
  const snippets: Snippet[] = JSON.parse(await Deno.readTextFile(list));
  for (const { code } of snippets) {
    let state = Number(seed);
    Math.random = () => (state = (state * 16807) % 2147483647) / 2147483647;
    console.log(WRITTEN + JSON.stringify(await runSnippet(tf, code)));
  }
}

if (import.meta.main) {
  await main(Deno.args).catch((error) => {
    console.error(error);
    Deno.exit(1);
  });
  Deno.exit(0);
}
