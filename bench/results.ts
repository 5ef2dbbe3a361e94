// Keeps bench/RESULTS.md: one section per device and machine, replaced when it is measured again.

import { markdownTable, participants, type Table } from "./table.ts";

const HEADING = `# Results

Milliseconds a call, median of interleaved rounds in one process, the wait for the device included; every result checked
against a float64 reference first. "ours ×" is the best peer divided by the better of Weft's two columns: above 1 Weft
is faster. "Weft" is op by op, "Weft function" is the same code inside \`tf.function\`. onnxruntime-web runs a model compiled
beforehand; it is fed from JavaScript's memory and answers there, so its times hold these copies. Filters and weights of
layers are part of its models. A system that takes seconds for a call is timed by one call. Made by \`deno task bench --write\`.
Tables of many ops, made by \`deno task bench ops --write\`, are checked by comparing the two systems.

Where a title says "no GPU", the adapter is a program on the processor. It has kernels of its own, without barriers and memory of a
workgroup; a GPU runs others, about which such a table says nothing. \`deno task gpu\` makes the tables of a GPU.
`;

/** Description of the machine. */
export interface Circumstances {
  /** Names the section: the adapter, or the processor. */
  readonly machine: string;
  readonly date: string;
}

function sectionTitle(table: Table, machine: string): string {
  const device = table.device === "cpu" ? "CPU" : "WebGPU";
  return `## ${device}${table.ops ? ", many ops" : ""}: ${machine}`;
}

function section(table: Table, { machine, date }: Circumstances): string {
  const runtime = `Deno ${Deno.version.deno}, V8 ${Deno.version.v8}, ${Deno.build.os}`;
  const systems = participants(table).join(", ");
  return [
    sectionTitle(table, machine),
    "",
    `${date}, ${runtime}. ${systems}.`,
    "",
    markdownTable(table),
    "",
  ].join("\n");
}

/** Splits a results file into its sections by their titles. */
function sectionsOf(text: string): Map<string, string> {
  const parts = text.split(/^(?=## )/m).filter((part) => part.startsWith("## "));
  return new Map(parts.map((part) => [part.split("\n")[0]!, part.trimEnd() + "\n"]));
}

/** Writes a section into the file, in place of what had its title before. */
export async function writeSection(
  url: URL,
  { title, text }: { readonly title: string; readonly text: string },
): Promise<void> {
  const old = await Deno.readTextFile(url).catch(() => "");
  const sections = sectionsOf(old);
  sections.set(`## ${title}`, `## ${title}\n\n${text}\n`);
  await Deno.writeTextFile(url, [HEADING, ...sections.values()].join("\n"));
}

/** Writes a table into the file, in place of what that machine had before. */
export async function writeResults(
  url: URL,
  table: Table,
  circumstances: Circumstances,
): Promise<void> {
  const old = await Deno.readTextFile(url).catch(() => "");
  const sections = sectionsOf(old);
  sections.set(sectionTitle(table, circumstances.machine), section(table, circumstances));
  await Deno.writeTextFile(url, [HEADING, ...sections.values()].join("\n"));
}
