/**
 * `deno task where FILE`: prints the tests nearest to a file, the files that import it and the documents that name it or what it
 * exports.
 *
 * @module
 */

import { enterRoot, exists } from "../files.ts";
import { runTask } from "./help.ts";
import { documentsOf, importersOf, nearestTests, sourceGraph } from "./nearest.ts";

/** Lines of each list, so that a file that all others import still fits on a screen. */
const MOST = 12;

async function main([file]: string[]): Promise<number> {
  enterRoot();
  if (file === undefined || !exists(file, "isFile")) {
    console.error(`Cannot look up ${JSON.stringify(file)}: name a file by its path from the root`);
    return 2;
  }
  const graph = await sourceGraph();
  const importers = importersOf(file, graph);
  show("Tests, nearest first", nearestTests([file], graph));
  show("Imported by", importers.filter((importer) => !importer.startsWith("tests/")));
  show("Documents", documentsOf(file));
  return 0;
}

function show(title: string, lines: readonly string[]): void {
  console.log(`${title} (${lines.length})`);
  for (const line of lines.slice(0, MOST)) console.log(`  ${line}`);
  if (lines.length > MOST) console.log(`  … and ${lines.length - MOST} more`);
}

if (import.meta.main) await runTask(import.meta.url, main);
