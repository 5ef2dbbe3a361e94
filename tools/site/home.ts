/**
 * The parts of the first page: its program, what that prints and its plan on the CPU, as they are before one runs it.
 *
 * @module
 */

import { PlanWatch } from "../../examples/site/plans.ts";
import { shownLine } from "../../examples/site/shown.ts";
import { read, ROOT } from "../files.ts";
import { SOURCE } from "./pages.ts";

const PROGRAM = `${SOURCE}/home/program.js`;

/** Texts by the names that the page has for them. */
export async function homeParts(): Promise<
  Readonly<Record<"program" | "printed" | "plan" | "pageKib" | "eagerKib", string>>
> {
  const watch = new PlanWatch(), lines: string[] = [];
  const { log } = console;
  console.log = (...values: unknown[]) => lines.push(shownLine(values));
  try {
    // A module runs once, and a process may build the site twice.
    await import(`${new URL(PROGRAM, ROOT)}?${crypto.randomUUID()}`);
  } finally {
    console.log = log;
  }
  const [{ svg }] = watch.plans();
  const weights = /small network loads (\d+) KiB \(brotli\), or (\d+) of/.exec(read("README.md"));
  if (weights === null) throw new Error("Cannot find in README.md what a page loads");
  const [, pageKib, eagerKib] = weights as unknown as [string, string, string];
  const program = escaped(read(PROGRAM)), printed = escaped(lines.join("\n"));
  return { program, printed, plan: svg, pageKib, eagerKib };
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
