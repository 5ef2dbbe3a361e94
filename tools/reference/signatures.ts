/**
 * Declarations as a reader of the reference sees them: the source's own text without bodies.
 *
 * @module
 */

import ts from "typescript";
import type { ApiMember } from "./api.ts";
import { docOf, isInternal } from "./docs.ts";

/** Characters of an initializer that are still shown. */
const SHOWN = 60;

/** A declaration without its body and its members, under the name that it is exported by. */
export function headOf(node: ts.Declaration, exported: string): string {
  if (ts.isFunctionDeclaration(node)) {
    return textBefore(node, node.body).replace(/^(async function|function) \w+/, `$1 ${exported}`);
  }
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
    return textBefore(node, node.members.pos - 1);
  }
  if (ts.isVariableDeclaration(node)) {
    const { type, initializer } = node;
    const value = initializer === undefined ? "" : shortened(textOf(initializer));
    return `const ${exported}${type ? `: ${textOf(type)}` : ` = ${value}`}`;
  }
  return withoutExport(textOf(node));
}

/** The members that users of a class or an interface may call. */
export function membersOf(node: ts.Declaration): ApiMember[] {
  if (!ts.isClassDeclaration(node) && !ts.isInterfaceDeclaration(node)) return [];
  const members = [...node.members].filter((m) => !isHidden(m) && !isInternal(m));
  const overloaded = new Set(
    members.filter((m) => ts.isMethodDeclaration(m) && !m.body).map((m) => m.name!.getText()),
  );
  return members
    .filter((m) => !(ts.isMethodDeclaration(m) && m.body && overloaded.has(m.name.getText())))
    .map((m) => ({
      signature: memberText(m),
      type: typeNameOf(m),
      doc: docOf(m, m.getSourceFile()).doc,
    }));
}

/** The name of the type that a declaration has or returns, also of what a promise is of; empty where it says none. */
export function typeNameOf(node: ts.Node): string {
  const { type, typeParameters } = node as Partial<ts.SignatureDeclaration>;
  if (type === undefined || ts.isTypeAliasDeclaration(node)) return "";
  const name = nameOfType(type);
  // A parameter of types stands for what it extends.
  const parameter = typeParameters?.find((p) => p.name.text === name);
  return parameter === undefined
    ? name
    : parameter.constraint === undefined
    ? ""
    : nameOfType(parameter.constraint);
}

function nameOfType(type: ts.TypeNode): string {
  if (ts.isThisTypeNode(type)) return "this";
  if (ts.isParenthesizedTypeNode(type)) return nameOfType(type.type);
  if (ts.isUnionTypeNode(type)) return type.types.map(nameOfType).find((name) => name !== "") ?? "";
  if (!ts.isTypeReferenceNode(type)) return "";
  const name = type.typeName.getText().split(".").at(-1)!, [inner] = type.typeArguments ?? [];
  return name === "Promise" && inner !== undefined ? nameOfType(inner) : name;
}

function memberText(node: ts.ClassElement | ts.TypeElement): string {
  if (ts.isPropertyDeclaration(node)) {
    const { type, initializer } = node;
    const text = textBefore(node, initializer && initializer.getFullStart() - 1);
    return type || !initializer ? text : `${text} = ${shortened(textOf(initializer))}`;
  }
  const body = "body" in node ? node.body as ts.Node | undefined : undefined;
  return textBefore(node, body);
}

/** True for what is private by a modifier or its name, and for static blocks. */
function isHidden(node: ts.ClassElement | ts.TypeElement): boolean {
  if (node.name && ts.isPrivateIdentifier(node.name)) return true;
  if (ts.isClassStaticBlockDeclaration(node)) return true;
  const hidden = [ts.SyntaxKind.PrivateKeyword, ts.SyntaxKind.ProtectedKeyword];
  return ts.canHaveModifiers(node) &&
    (ts.getModifiers(node) ?? []).some(({ kind }) => hidden.includes(kind));
}

/** The text of a node up to another, or up to a position. */
function textBefore(node: ts.Node, end: ts.Node | number = node.end): string {
  const source = node.getSourceFile();
  const stop = typeof end === "number" ? end : end.getStart();
  return withoutExport(dedent(source.text.slice(node.getStart(), stop), column(node)));
}

function textOf(node: ts.Node): string {
  return dedent(node.getText(), column(node));
}

function column(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).character;
}

/** Takes the indentation of the first line off the others, and comments out. */
function dedent(text: string, columns: number): string {
  return text.replaceAll(`\n${" ".repeat(columns)}`, "\n")
    .replaceAll(/^ *\/\/ .*\n/gm, "");
}

function withoutExport(text: string): string {
  return text.trim().replace(
    /^(?:export|declare|override|readonly override) +(?:default +|declare +)?/,
    "",
  )
    .replace(/[;{]$/, "").trim();
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}
