/**
 * Runs a page in a headless Chromium and listens to what it reports.
 *
 * Nothing but Chromium is needed: the page sends its messages home with `fetch`, so there is no
 * driver, no debugging port and nothing to keep in step with the browser's version.
 *
 * @module
 */

import { delimiter } from "node:path";
import { capture } from "./command.ts";
import { exists } from "./files.ts";

/** Programs that are Chromium, by how systems call them. */
const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/**
 * WebGPU without a graphics card (Chromium then falls back to SwiftShader), no sandbox because root in
 * a container has none, and no talk with the outside.
 */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** A camera that shows a clock and a microphone that beeps, without a question to the user. */
const MEDIA_FLAGS = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

/** Canvases that an emulated GPU can draw on: the compositor must use it too. */
const CANVAS_FLAGS = [
  "--enable-features=Vulkan",
  "--use-vulkan=swiftshader",
  "--use-angle=swiftshader",
];

/** A page goes quiet while a large kernel is compiled, on a slow machine for minutes, but not for so long. */
const SILENCE_MS = 480_000;

/** Where the page sends its messages. */
const MESSAGES = "/message";

/** A file served beside the page. */
export interface PageFile {
  /** MIME type. */
  readonly type: string;
  /** Contents. */
  readonly body: string;
}

/** A page to run. */
export interface Page {
  /** Its files by path; "/" is the page. */
  readonly files: ReadonlyMap<string, PageFile>;
  /** Isolate the page by cross-origin headers, so that its threads may share memory. */
  readonly isolated: boolean;
  /** Give the page a simulated camera and microphone, with permission to use them. */
  readonly hasMedia?: boolean;
  /** Let WebGPU draw on the page's canvases, though the GPU is an emulated one. */
  readonly hasCanvas?: boolean | undefined;
  /** Its content security policy. Default: none. */
  readonly policy?: string | undefined;
}

/** The path of Chromium, or null where there is none. `WEFT_CHROMIUM` names another one. */
export async function findChromium(): Promise<string | null> {
  const named = Deno.env.get("WEFT_CHROMIUM");
  for (const name of named ? [named] : NAMES) {
    const { code } = await capture(name, ["--version"], { timeoutMs: 120_000 });
    if (code === 0) return name;
  }
  return null;
}

/** Where a program is, given its name or its path. */
export function pathOf(name: string): string {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  const paths = name.includes("/") ? [name] : folders.map((folder) => `${folder}/${name}`);
  const path = paths.find((path) => exists(path, "isFile"));
  if (path === undefined) throw new Error(`Cannot find ${name}`);
  return path;
}

/**
 * Runs a page until it sends `null`.
 *
 * The page sends a message with `fetch("/message", { method: "POST", body: JSON.stringify(m) })`.
 *
 * @param chromium What {@linkcode findChromium} found.
 * @param page The page.
 * @param onMessage Receives the messages, in order.
 * @throws {Error} Where Chromium ends first, or the page says nothing for eight minutes.
 */
export async function runPage(
  chromium: string,
  page: Page,
  onMessage: (message: unknown) => void,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(watchdog);
    const error = new Error(`The page said nothing for ${SILENCE_MS / 1000} seconds`);
    watchdog = setTimeout(() => done.reject(error), SILENCE_MS);
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === MESSAGES) {
        heard();
        const message = await request.json();
        if (message === null) done.resolve();
        else onMessage(message);
        return new Response(null, { status: 204 });
      }
      return respond(page, pathname);
    },
  );
  const profile = await Deno.makeTempDir({ prefix: "weft-chromium-" });
  const child = new Deno.Command(chromium, {
    // Only "localhost" and "127.0.0.1" are secure contexts without a certificate.
    args: [
      ...FLAGS,
      ...(page.hasMedia ? MEDIA_FLAGS : []),
      ...(page.hasCanvas ? CANVAS_FLAGS : []),
      `--user-data-dir=${profile}`,
      `http://127.0.0.1:${server.addr.port}/`,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  child.status.then(({ code }) => done.reject(new Error(`Chromium ended with status ${code}`)));
  heard();
  try {
    await done.promise;
  } finally {
    clearTimeout(watchdog);
    await stop(child);
    await server.shutdown();
    // Helper processes may still write for a moment.
    await Deno.remove(profile, { recursive: true }).catch(() => {});
  }
}

function respond(page: Page, path: string): Response {
  const file = page.files.get(path);
  if (file === undefined) return new Response("Not found", { status: 404 });
  const headers = new Headers({ "content-type": file.type, "cache-control": "no-store" });
  if (page.isolated) {
    headers.set("cross-origin-opener-policy", "same-origin");
    headers.set("cross-origin-embedder-policy", "require-corp");
  }
  if (page.policy !== undefined) headers.set("content-security-policy", page.policy);
  return new Response(file.body, { headers });
}

async function stop(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGTERM");
  } catch {
    // It has ended already.
  }
  await child.status;
}
