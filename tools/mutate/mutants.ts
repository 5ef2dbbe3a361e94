/**
 * Finds what could be changed in a source file so that a test should notice: mutants, by a small set of operators.
 *
 * @module
 */

import ts from "typescript";

/** A small change of a source file. */
export interface Mutant {
  /** Path from the repository's root. */
  readonly file: string;
  /** Line of its start, from 1. */
  readonly line: number;
  /** Offsets of the text that is replaced. */
  readonly start: number;
  readonly end: number;
  /** The original text and its replacement. */
  readonly original: string;
  readonly mutated: string;
  /** The whole line as it is, without the spaces around it. */
  readonly text: string;
  /** Number among the mutants of its file that read alike, from 1. */
  readonly nth: number;
}

/** The part of a mutant that tells it from others, wherever its line is; without `nth` it is the first that reads so. */
export type MutantKey = Pick<Mutant, "file" | "text" | "original" | "mutated"> & { nth?: number };

/** Makes one text of a key. */
export function keyOf({ file, text, original, mutated, nth = 1 }: MutantKey): string {
  return [file, text, original, mutated, nth].join("\0");
}

const BINARY: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.LessThanToken, "<="],
  [ts.SyntaxKind.LessThanEqualsToken, "<"],
  [ts.SyntaxKind.GreaterThanToken, ">="],
  [ts.SyntaxKind.GreaterThanEqualsToken, ">"],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, "!=="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, "==="],
  [ts.SyntaxKind.AmpersandAmpersandToken, "||"],
  [ts.SyntaxKind.BarBarToken, "&&"],
  [ts.SyntaxKind.PlusToken, "-"],
  [ts.SyntaxKind.MinusToken, "+"],
  [ts.SyntaxKind.AsteriskToken, "/"],
  [ts.SyntaxKind.SlashToken, "*"],
  [ts.SyntaxKind.PercentToken, "*"],
  [ts.SyntaxKind.PlusEqualsToken, "-="],
  [ts.SyntaxKind.MinusEqualsToken, "+="],
]);

/** Methods that give their object back, with something done to it: a mutant leaves that out. */
const CHAINED = new Set([
  ...["slice", "filter", "sort", "toSorted", "reverse", "toReversed", "flat", "concat"],
]);

/** Functions whose first two arguments may change places. */
const COMMUTATIVE =
  /(?:^|\.)(add|mul|max|min|maximum|minimum|and|or|equal|notEqual|imul|logical(And|Or|Xor)|hypot|squaredDifference|(same|merge|relax|broadcast)Shapes?|compatible|promote|xor|is)$/;

/** All mutants of a source file, in the order of the text. */
export function findMutants(file: string, source: string): Mutant[] {
  const root = ts.createSourceFile(file, source, ts.ScriptTarget.ESNext, true);
  const lines = source.split("\n");
  const found: Omit<Mutant, "nth">[] = [];

  function add(node: ts.Node, mutated: string): void {
    const start = node.getStart(root), end = node.getEnd();
    const line = root.getLineAndCharacterOfPosition(start).line;
    const text = lines[line].trim();
    found.push({ file, line: line + 1, start, end, original: node.getText(root), mutated, text });
  }

  function visit(node: ts.Node): void {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    // What an error says is not what a program does: the check before it has mutants of its own.
    if (ts.isThrowStatement(node)) return;
    mutate(node, add);
    ts.forEachChild(node, visit);
  }
  visit(root);
  const seen = new Map<string, number>();
  return found.sort((a, b) => a.start - b.start || a.end - b.end).map((mutant) => {
    const key = keyOf(mutant), nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    return { ...mutant, nth };
  });
}

function mutate(node: ts.Node, add: (node: ts.Node, mutated: string) => void): void {
  if (ts.isIfStatement(node)) {
    add(node.expression, negate(node.expression));
    if (!node.elseStatement && onlyLeaves(node.thenStatement)) add(node, "");
  } else if (ts.isConditionalExpression(node)) add(node.condition, negate(node.condition));
  else if (ts.isWhileStatement(node)) add(node.expression, negate(node.expression));
  else if (ts.isExpressionStatement(node)) {
    if (!isSuperCall(node.expression)) add(node, ";");
  } else if (ts.isBinaryExpression(node)) mutateBinary(node, add);
  else if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    mutateUnary(node, add);
  } else if (ts.isNumericLiteral(node) || ts.isBigIntLiteral(node)) {
    if (!isChosenSize(node)) add(node, otherNumber(node.text));
  } else if (node.kind === ts.SyntaxKind.TrueKeyword) {
    if (!isKeyOfOptions(node)) add(node, "false");
  } else if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, "true");
  else if (ts.isCallExpression(node)) mutateCall(node, add);
}

function mutateBinary(
  node: ts.BinaryExpression,
  add: (node: ts.Node, mutated: string) => void,
): void {
  const { left, operatorToken, right } = node;
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) return add(node, left.getText());
  const other = BINARY.get(operatorToken.kind);
  if (other === undefined) return;
  // Text is joined by the same sign, and a negated condition is a mutant already.
  const isEquality = other === "===" || other === "!==";
  if (other === "-" && (isText(left) || isText(right))) return;
  if (isEquality && isCondition(node)) return;
  add(operatorToken, other);
}

function mutateUnary(
  node: ts.PrefixUnaryExpression | ts.PostfixUnaryExpression,
  add: (node: ts.Node, mutated: string) => void,
): void {
  const operand = node.operand.getText();
  if (node.operator === ts.SyntaxKind.PlusPlusToken) add(node, `${operand}--`);
  else if (node.operator === ts.SyntaxKind.MinusMinusToken) add(node, `${operand}++`);
  else if (node.operator === ts.SyntaxKind.MinusToken) add(node, operand);
  else if (node.operator === ts.SyntaxKind.ExclamationToken && !isCondition(node)) {
    add(node, operand);
  }
}

function mutateCall(node: ts.CallExpression, add: (node: ts.Node, mutated: string) => void): void {
  const { expression, arguments: args } = node;
  const isChained = ts.isPropertyAccessExpression(expression) &&
    !expression.questionDotToken && CHAINED.has(expression.name.text);
  if (isChained) add(node, expression.expression.getText());
  const [a, b] = args;
  const isOrdered = !COMMUTATIVE.test(expression.getText());
  if (isOrdered && a && b && isPlace(a) && isPlace(b) && a.getText() !== b.getText()) {
    const rest = args.slice(2).map((arg) => `, ${arg.getText()}`).join("");
    add(node, `${expression.getText()}(${b.getText()}, ${a.getText()}${rest})`);
  }
}

/** True for a statement that only leaves its block: the `if` before it is a check. */
function onlyLeaves(node: ts.Statement): boolean {
  if (ts.isBlock(node)) return node.statements.length === 1 && onlyLeaves(node.statements[0]);
  return ts.isThrowStatement(node) || ts.isReturnStatement(node) || ts.isContinueStatement(node) ||
    ts.isBreakStatement(node);
}

function isSuperCall(node: ts.Expression): boolean {
  return ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword;
}

function isText(node: ts.Expression): boolean {
  if (ts.isBinaryExpression(node)) return isText(node.left) || isText(node.right);
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

/** True for an expression that is itself the condition of an `if`, a `while` or a choice. */
function isCondition({ parent, pos }: ts.Expression): boolean {
  return (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) &&
      parent.expression.pos === pos ||
    ts.isConditionalExpression(parent) && parent.condition.pos === pos;
}

/** True for an argument that names something, so that two of them may be mistaken for each other. */
function isPlace(node: ts.Expression): boolean {
  return ts.isIdentifier(node) && node.text !== "undefined" ||
    ts.isPropertyAccessExpression(node) ||
    ts.isElementAccessExpression(node);
}

/** True for a constant's power of two: a size chosen for speed, in which one more or less means nothing. */
function isChosenSize({ text, parent }: ts.NumericLiteral | ts.BigIntLiteral): boolean {
  const value = Number(text);
  return ts.isVariableDeclaration(parent) && /^[A-Z][A-Z_0-9]+$/.test(parent.name.getText()) &&
    value >= 32 && Number.isInteger(Math.log2(value));
}

/** True for a `true` that marks a key of an options object: the compiler accepts nothing else there. */
function isKeyOfOptions({ parent }: ts.Node): boolean {
  if (!ts.isPropertyAssignment(parent)) return false;
  const owner = parent.parent.parent;
  return ts.isCallExpression(owner) && /^optionCheck\b/.test(owner.getText()) ||
    ts.isVariableDeclaration(owner) && /^OptionKeys\b/.test(owner.type?.getText() ?? "");
}

function negate(node: ts.Expression): string {
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    return node.operand.getText();
  }
  return `!(${node.getText()})`;
}

function otherNumber(text: string): string {
  if (text.endsWith("n")) return text === "1n" ? "0n" : `${BigInt(text.slice(0, -1)) + 1n}n`;
  return text === "1" ? "0" : `${Number(text) + 1}`;
}
