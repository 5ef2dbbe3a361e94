/**
 * Puts many mutants into a source at once, each behind a switch: a process that loaded the file once tries them one after the other.
 *
 * A mutant's place asks `globalThis.__weftSwitch?.(number)`, which also tells that the place was reached. Threads without that function
 * run the source as it is.
 *
 * @module
 */

import ts from "typescript";
import type { Mutant } from "./mutants.ts";

/** A node that stands with its mutants in one place. */
interface Host {
  readonly start: number;
  readonly end: number;
  readonly form: "expression" | "statement" | "key";
  /** Numbers of the mutants, and the node's text with each. */
  readonly others: (readonly [number: number, text: string])[];
}

/** Returns the source with its mutants behind switches; `numbers[i]` is that of `mutants[i]`. */
export function withSwitches(
  source: string,
  mutants: readonly Mutant[],
  numbers: readonly number[],
): string {
  const root = ts.createSourceFile("a.ts", source, ts.ScriptTarget.ESNext, true);
  const hosts = new Map<string, Host>();
  mutants.forEach((mutant, i) => {
    const { start, end, form } = hostOf(root, mutant);
    const key = `${start} ${end}`, known = hosts.get(key);
    const host: Host = known ?? { start, end, form, others: [] };
    if (known === undefined) hosts.set(key, host);
    const text = source.slice(start, mutant.start) + mutant.mutated + source.slice(mutant.end, end);
    host.others.push([numbers[i]!, text]);
  });
  // Outer hosts stand before those within.
  const ordered = [...hosts.values()].sort((a, b) => a.start - b.start || b.end - a.end);
  return render(source, { start: 0, end: source.length }, ordered);
}

function hostOf(root: ts.SourceFile, mutant: Mutant): Omit<Host, "others"> {
  const isGone = mutant.mutated === ";" || mutant.mutated === "";
  const found = nodesAt(root, mutant);
  const node = found.find((n) => isGone ? ts.isStatement(n) : !ts.isStatement(n));
  if (node === undefined) throw new Error(`Nothing stands at ${mutant.file}:${mutant.line}`);
  const place = (n: ts.Node, form: Host["form"]) => ({
    start: n.getStart(root),
    end: n.getEnd(),
    form,
  });
  if (isGone) return place(node, "statement");
  // An operator's place is its expression.
  let host = ts.isToken(node) && ts.isBinaryExpression(node.parent) &&
      node.parent.operatorToken === node
    ? node.parent
    : node;
  // A chain that may end early is one expression.
  while (ts.isOptionalChain(host.parent) && host.parent.expression === host) host = host.parent;
  const isKey = ts.isPropertyAssignment(host.parent) && host.parent.name === host;
  return place(host, isKey ? "key" : "expression");
}

/** The nodes that begin and end where a mutant does, outer ones first. */
function nodesAt(root: ts.SourceFile, { start, end }: Mutant): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    const from = node.getStart(root), to = node.getEnd();
    if (from > start || to < end) return;
    if (from === start && to === end) found.push(node);
    node.getChildren(root).forEach(visit);
  };
  visit(root);
  return found;
}

function render(
  source: string,
  { start, end }: { readonly start: number; readonly end: number },
  hosts: readonly Host[],
): string {
  let text = "", done = start;
  for (let i = 0; i < hosts.length;) {
    const host = hosts[i]!;
    let next = i + 1;
    while (next < hosts.length && hosts[next]!.start < host.end) next++;
    const plain = render(source, host, hosts.slice(i + 1, next));
    text += source.slice(done, host.start) + switched(host, plain);
    done = host.end;
    i = next;
  }
  return text + source.slice(done, end);
}

function switched({ form, others }: Host, plain: string): string {
  const on = (n: number): string => `globalThis.__weftSwitch?.(${n})`;
  if (form === "statement") {
    // A statement has one mutant: it is not there.
    return `{if(!(${others.map(([n]) => on(n)).join("||")})){${plain}}}`;
  }
  const text = `(${others.map(([n, other]) => `${on(n)}?(${other}):`).join("")}(${plain}))`;
  return form === "key" ? `[${text}]` : text;
}
