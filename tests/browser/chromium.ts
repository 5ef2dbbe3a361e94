/** What tests of pages ask Chromium for beside what Playwright offers by name. */

import { delimiter } from "node:path";
import type { Browser, Page } from "playwright-core";
import { exists } from "../../tools/files.ts";

/** Where a program is, given its name or its path. */
export function pathOf(name: string): string {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  const paths = name.includes("/") ? [name] : folders.map((folder) => `${folder}/${name}`);
  const path = paths.find((path) => exists(path, "isFile"));
  if (path === undefined) throw new Error(`Cannot find ${name}`);
  return path;
}

/** What we read of Chrome's trace events. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds that the thread computed: what else the machine did meanwhile does not count. */
  readonly tdur?: number;
  readonly args: {
    readonly name?: string;
    readonly data?: { readonly url?: string };
  };
}

/** The milliseconds that each task of a page's main thread computed while `run` went on. */
export async function mainThreadTasks(
  browser: Browser,
  page: Page,
  run: () => Promise<unknown>,
): Promise<number[]> {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "__metadata"] });
  let trace: Uint8Array;
  try {
    await run();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(new TextDecoder().decode(trace)) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  const thread = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`;
  const main = new Set(
    traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(thread),
  );
  const { origin } = new URL(page.url());
  const own = new Set(
    traceEvents.filter((event) =>
      main.has(thread(event)) && event.args.data?.url?.startsWith(origin)
    ).map(thread),
  );
  return traceEvents.filter((event) => own.has(thread(event)) && /\bRunTask$/.test(event.name))
    .map(({ tdur = 0 }) => tdur / 1000);
}
