/**
 * Common parts of the tests of the pages that `deno task site` builds: the site, served, and Chromium.
 * `WEFT_CHROMIUM=none` skips them.
 */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assertEquals } from "@std/assert";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findChromium, pathOf } from "../../tools/browser.ts";
import { buildSite, serveSite } from "../../tools/site.ts";
import { builtOnce } from "../built.ts";
import { isOfTheDay } from "../effort.ts";

const found = await findChromium();
const ignore = found === null && Deno.env.get("WEFT_REQUIRE_WEBGPU") !== "1";

/** The machine may be busy: what takes so long hangs. */
const TIMEOUT_MS = 120_000;

/** Where the site lies, and its address. */
export let folder = "", home = "";
let server: Deno.HttpServer<Deno.NetAddr>;
let browser: Browser;

if (!ignore) {
  Deno.test.beforeAll(async () => {
    if (found === null) throw new Error("Cannot find Chromium: WEFT_REQUIRE_WEBGPU wants it");
    folder = await builtOnce("site", buildSite);
    server = serveSite(folder);
    home = `http://127.0.0.1:${server.addr.port}`;
    browser = await chromium.launch({
      executablePath: pathOf(found),
      args: [
        "--no-sandbox",
        "--enable-unsafe-webgpu",
        "--disable-dev-shm-usage",
        "--use-fake-device-for-media-stream",
      ],
    });
  });

  Deno.test.afterAll(async () => {
    await browser.close();
    await server.shutdown();
  });
}

/** Tests of pages that want no adapter: half of them run on a day. */
let count = 0;

/** Tests a page; it must write no error to its console. The browser is a process that all tests share. */
export function test(
  name: string,
  fn: (page: Page) => Promise<unknown>,
  options: BrowserContextOptions = {},
): void {
  if (!name.endsWith("[webgpu]") && !isOfTheDay(count++, 2)) return;
  const run = async (): Promise<void> => {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("response", (r) => r.ok() || errors.push(`${r.status()} ${r.url()}`));
    try {
      await fn(page);
      assertEquals(errors, []);
    } finally {
      await context.close();
    }
  };
  Deno.test({ name, fn: run, ignore, sanitizeOps: false, sanitizeResources: false });
}

/** Waits until an element's text matches; gives the text. */
export async function textOf(page: Page, id: string, wanted: RegExp): Promise<string> {
  const handle = await page.waitForFunction(
    ([id, source]) => {
      const text = document.getElementById(id!)!.textContent!;
      return new RegExp(source!).test(text) && text;
    },
    [id, wanted.source],
  );
  return String(await handle.jsonValue());
}

/** Puts a text into a field of programs, or into the editor that took its place. */
export async function write(page: Page, text: string, id = "code"): Promise<void> {
  // In one turn: the editor may take the field's place between two commands.
  const inField = await page.locator(`#${id}`).evaluate((area: HTMLTextAreaElement, text) => {
    if (area.hidden) return false;
    area.focus();
    area.value = text;
    return area.dispatchEvent(new Event("input", { bubbles: true }));
  }, text);
  if (inField) return;
  // Pasted: Chromium itself would write styles of its own beside it, which the pages' policy refuses.
  const editor = page.locator(".code-view .cm-content");
  await editor.focus();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.press("Delete");
  await editor.evaluate((element, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const options = { clipboardData, bubbles: true, cancelable: true };
    element.dispatchEvent(new ClipboardEvent("paste", options));
  }, text);
}

/** Runs what is in the playground's editor. */
export async function runProgram(page: Page, program: string): Promise<void> {
  await write(page, program);
  await page.click("#run");
}
