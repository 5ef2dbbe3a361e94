/** Parser of protobuf's text format, the content of `.pbtxt` files. */
import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { Lexer } from "./text_lexer.ts";

/** Most nested messages: protobuf's own limit. */
const MAX_DEPTH = 100;

/** Parses a message. Unknown fields are skipped. Throws `DataLossError` naming file and line. */
export function parseText<D extends DescMessage>(
  schema: D,
  text: string,
  file: string,
): MessageShape<D> {
  const parser = new Parser(new Lexer(text, file));
  const message = parser.message(schema, "");
  return message as MessageShape<D>;
}

type Fields = Record<string, unknown>;

class Parser {
  readonly #lexer: Lexer;
  #depth = 0;

  constructor(lexer: Lexer) {
    this.#lexer = lexer;
  }

  /** Parses fields up to the closing sign, or to the end of the text. */
  message(schema: DescMessage, close: string): Message {
    if (++this.#depth > MAX_DEPTH) {
      throw this.#lexer.error(`messages nest more than ${MAX_DEPTH} deep`);
    }
    const out = create(schema);
    const byName = fieldsByName(schema);
    while (!this.#isClosed(close)) {
      const token = this.#lexer.take();
      if (token.kind !== "word") throw this.#lexer.error("wanted the name of a field");
      const field = byName.get(token.text);
      if (field === undefined) this.#pass();
      else this.#field(field, out as unknown as Fields);
      if (!this.#lexer.skip(",")) this.#lexer.skip(";");
    }
    this.#depth--;
    return out;
  }

  #isClosed(close: string): boolean {
    if (this.#lexer.next.kind === "end") {
      if (close === "") return true;
      throw this.#lexer.error(`the text ends where "${close}" is wanted`);
    }
    return close !== "" && this.#lexer.skip(close);
  }

  #field(field: DescField, out: Fields): void {
    const colon = this.#lexer.skip(":");
    if (!colon && !isMessage(field)) throw this.#lexer.error(`wanted ":" after ${field.name}`);
    if (this.#lexer.skip("[")) {
      while (!this.#lexer.skip("]")) {
        this.#value(field, out);
        this.#lexer.skip(",");
      }
    } else this.#value(field, out);
  }

  #value(field: DescField, out: Fields): void {
    const name = field.localName;
    if (field.fieldKind === "map") {
      const [key, value] = this.#mapEntry(field);
      Object.defineProperty(out[name], key, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    } else if (field.fieldKind === "list") {
      (out[name] as unknown[]).push(this.#single(field, field.listKind));
    } else {
      const value = this.#single(field, field.fieldKind);
      if (field.oneof) out[field.oneof.localName] = { case: name, value };
      else out[name] = value;
    }
  }

  #single(field: DescField, kind: "scalar" | "enum" | "message"): unknown {
    if (kind === "message") return this.message(field.message!, this.#open());
    if (kind === "scalar") return this.#scalar(field.scalar!);
    const token = this.#lexer.take();
    const text = token.kind === "word" ? token.text : "";
    const known = field.enum!.values.find((v) => v.name === text)?.number ?? Number(text);
    if (text === "" || !Number.isInteger(known)) {
      throw this.#lexer.error(`${field.name} has no value ${text || "here"}`);
    }
    return known;
  }

  #open(): string {
    if (this.#lexer.skip("{")) return "}";
    if (this.#lexer.skip("<")) return ">";
    throw this.#lexer.error('wanted "{"');
  }

  #mapEntry(field: DescField & { fieldKind: "map" }): [string, unknown] {
    const close = this.#open();
    let key = "", value: unknown;
    while (!this.#isClosed(close)) {
      const token = this.#lexer.take();
      const name = token.kind === "word" ? token.text : "";
      this.#lexer.skip(":");
      if (name === "key") key = String(this.#scalar(field.mapKey));
      else if (name === "value") value = this.#single(field, field.mapKind);
      else throw this.#lexer.error(`an entry of ${field.name} has no field "${name}"`);
      if (!this.#lexer.skip(",")) this.#lexer.skip(";");
    }
    return [key, value ?? (field.message ? create(field.message) : "")];
  }

  #scalar(type: ScalarType): unknown {
    const token = this.#lexer.take();
    if (type === ScalarType.STRING || type === ScalarType.BYTES) {
      if (token.kind !== "string") throw this.#lexer.error("wanted a string");
      let { bytes } = token;
      // Adjacent literals are one string.
      while (this.#lexer.next.kind === "string") {
        bytes = Uint8Array.from([...bytes, ...this.#lexer.next.bytes]);
        this.#lexer.take();
      }
      return type === ScalarType.BYTES ? bytes : new TextDecoder().decode(bytes);
    }
    if (token.kind !== "word") throw this.#lexer.error("wanted a number");
    const value = type === ScalarType.BOOL ? boolOf(token.text) : numberOf(token.text, type);
    if (value === undefined) throw this.#lexer.error(`"${token.text}" is no ${ScalarType[type]}`);
    return value;
  }

  /** Skips the value of an unknown field. */
  #pass(): void {
    this.#lexer.skip(":");
    let depth = 0;
    do {
      const token = this.#lexer.take();
      if (token.kind === "end") throw this.#lexer.error("the text ends within a field");
      if (token.kind === "sign" && "{<[".includes(token.text)) depth++;
      if (token.kind === "sign" && "}>]".includes(token.text)) depth--;
      while (depth === 0 && token.kind === "string" && this.#lexer.next.kind === "string") {
        this.#lexer.take();
      }
    } while (depth > 0);
  }
}

function isMessage(field: DescField): boolean {
  return field.message !== undefined || field.fieldKind === "map";
}

const known = new WeakMap<DescMessage, Map<string, DescField>>();

function fieldsByName(schema: DescMessage): Map<string, DescField> {
  let fields = known.get(schema);
  if (fields === undefined) {
    known.set(schema, fields = new Map(schema.fields.map((f) => [f.name, f])));
  }
  return fields;
}

function boolOf(text: string): boolean | undefined {
  if (/^(true|True|t|1)$/.test(text)) return true;
  if (/^(false|False|f|0)$/.test(text)) return false;
  return undefined;
}

function numberOf(text: string, type: ScalarType): number | bigint | undefined {
  if (type === ScalarType.FLOAT || type === ScalarType.DOUBLE) {
    const special = /^([-+]?)(inf|infinity|nan)f?$/i.exec(text);
    if (special) {
      const sign = special[1] === "-" ? -1 : 1;
      return special[2].toLowerCase() === "nan" ? NaN : sign * Infinity;
    }
    const value = Number(text.replace(/f$/i, ""));
    return Number.isNaN(value) ? undefined : type === ScalarType.FLOAT ? Math.fround(value) : value;
  }
  const match = /^([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/.exec(text);
  if (match === null) return undefined;
  const digits = /^0[0-7]/.test(match[2]) ? `0o${match[2].slice(1)}` : match[2];
  const value = match[1] === "-" ? -BigInt(digits) : BigInt(digits);
  const [min, max] = RANGES[type] ?? [0n, 0n];
  if (value < min || value > max) return undefined;
  return max > 0xffffffffn ? value : Number(value);
}

const RANGES: Partial<Record<ScalarType, readonly [bigint, bigint]>> = {
  [ScalarType.INT32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [ScalarType.UINT32]: [0n, 2n ** 32n - 1n],
  [ScalarType.FIXED32]: [0n, 2n ** 32n - 1n],
  [ScalarType.INT64]: [-(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.UINT64]: [0n, 2n ** 64n - 1n],
};
