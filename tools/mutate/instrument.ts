/**
 * Puts counters into a source file, so that a test run tells which places it executed.
 *
 * V8's own coverage speaks of the code that Deno made of a file, and is read once for each process; a counter is found at
 * the very place of a mutant and read after each test.
 *
 * @module
 */

import ts from "typescript";
import { COUNTERS } from "./counters.ts";

/** A file with counters in it. */
export interface Instrumented {
  /** The source. */
  readonly text: string;
  /** Offsets in the original source that each counter stands for, outer places before those within. */
  readonly ranges: readonly (readonly [start: number, end: number])[];
}

/**
 * Puts counters into a file: one at each statement within a function, each body and initial value that is an expression, and
 * each operand that may be left out.
 *
 * @param base Number of its first counter.
 */
export function instrument(source: string, base: number): Instrumented {
  const root = ts.createSourceFile("a.ts", source, ts.ScriptTarget.ESNext, true);
  const ranges: [number, number][] = [];
  const opens: [number, string][] = [], closes: [number, string][] = [];

  function count(node: ts.Node): string {
    const id = base + ranges.push([node.getStart(root), node.getEnd()]) - 1;
    return `__w[${id}]=1`;
  }
  /** Wraps or precedes a node; `inside` puts what the node holds between. */
  function edit(node: ts.Node, before: string, after: string): void {
    opens.push([node.getStart(root), before]);
    ts.forEachChild(node, visit);
    if (after) closes.push([node.getEnd(), after]);
  }
  function visit(node: ts.Node): void {
    if (ts.isTypeNode(node) || isDeclaration(node)) return;
    if (isCountedExpression(node)) edit(node, `(${count(node)},`, ")");
    else if (isListed(node)) edit(node, `${count(node)};`, "");
    else if (isLoneBody(node)) edit(node, `{${count(node)};`, "}");
    else ts.forEachChild(node, visit);
  }
  visit(root);

  const header = `const __w=globalThis.${COUNTERS}??=new Uint8Array(65536);`;
  // Closing comes first where one place ends and the next begins. Places that close together do so from the innermost, which
  // is how they were found; those that open together from the outermost, likewise.
  const edits = [
    ...closes.map(([at, text]) => ({ at, text })),
    ...opens.map(([at, text]) => ({ at, text })),
  ];
  edits.sort((a, b) => a.at - b.at);
  let text = "", done = 0;
  for (const edit of edits) {
    text += source.slice(done, edit.at) + edit.text;
    done = edit.at;
  }
  return { text: header + text + source.slice(done), ranges };
}

function isDeclaration(node: ts.Node): boolean {
  return ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ||
    ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
}

/** True for an expression that may be skipped while its parent is executed. */
function isCountedExpression(node: ts.Node): boolean {
  const { parent } = node;
  if (!parent || ts.isBlock(node)) return false;
  if (ts.isArrowFunction(parent)) return parent.body === node;
  if (ts.isConditionalExpression(parent)) return parent.condition !== node && isExpression(node);
  if (ts.isParameter(parent) || ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isPropertyDeclaration(parent)) return parent.initializer === node;
  return ts.isBinaryExpression(parent) && parent.right === node &&
    [
      ts.SyntaxKind.AmpersandAmpersandToken,
      ts.SyntaxKind.BarBarToken,
      ts.SyntaxKind.QuestionQuestionToken,
    ].includes(parent.operatorToken.kind);
}

/** True for a node that is more than a punctuation mark. */
function isExpression(node: ts.Node): boolean {
  return node.kind !== ts.SyntaxKind.QuestionToken && node.kind !== ts.SyntaxKind.ColonToken;
}

/** True for a statement of a function's block. */
function isListed(node: ts.Node): boolean {
  const { parent } = node;
  return parent && (ts.isBlock(parent) || ts.isCaseOrDefaultClause(parent)) &&
    ts.isStatement(node) && !ts.isFunctionDeclaration(node) && !ts.isClassDeclaration(node);
}

/** True for a statement without braces that belongs to another. */
function isLoneBody(node: ts.Node): boolean {
  const { parent } = node;
  if (!parent || ts.isBlock(node) || !ts.isStatement(node)) return false;
  return ts.isIfStatement(parent) || ts.isIterationStatement(parent, false);
}
