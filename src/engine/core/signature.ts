/** Signatures of ops: parsed arguments and attributes, and their bindings to applications. */
import { asDType, type DType, DTYPE_GROUPS } from "./dtype.ts";
import { TypeError } from "./throwing/builtin_errors.ts";
import { ValueError } from "./errors.ts";
import type { Attrs, OpDef, OpInit } from "./op.ts";
import type { Spec } from "./tensor_spec.ts";
import { describe } from "./text.ts";

/** One parsed argument of a signature. */
export interface ArgDef {
  /** Its name. */
  readonly name: string;
  /** Fixed dtype, where it has one. */
  readonly dtype?: DType;
  /** Attribute that gives the dtype. */
  readonly typeAttr?: string;
  /** Attribute that gives the list of dtypes. */
  readonly typeListAttr?: string;
  /** Attribute with the number of tensors. */
  readonly numberAttr?: string;
}

/** One parsed attribute of a signature. */
export interface AttrDef {
  /** Its name. */
  readonly name: string;
  /**
   * `type`, `bool`, `int`, `int64` (a bigint where a number would not be exact), `float`, `string`, `shape`, `func`, `tensor`, or
   * `list(…)` of these.
   */
  readonly type: string;
  /** Allowed dtypes. */
  readonly allowed?: readonly DType[];
  /** The least value of an integer, which is checked in files. */
  readonly least?: number;
  /** Default, if any. */
  readonly default?: unknown;
}

/** Arguments and attributes of an op, parsed at first use: most ops are never used. */
export class Signature {
  readonly #init: OpInit;
  #attrDefs: readonly AttrDef[] | null = null;
  #inputArgs: readonly ArgDef[] | null = null;
  #outputArgs: readonly ArgDef[] | null = null;
  #isHostInput: readonly boolean[] | null = null;

  /** Of these texts. */
  constructor(init: OpInit) {
    this.#init = init;
  }

  /** Attributes. Throws `ValueError` for an invalid text, as the other getters do. */
  get attrDefs(): readonly AttrDef[] {
    const { name, attrs } = this.#init;
    return this.#attrDefs ??= (attrs ?? []).map((text) => {
      let parsed = knownAttrs.get(text);
      if (parsed === undefined) knownAttrs.set(text, parsed = parseAttr(name, text));
      return parsed;
    });
  }

  /** Inputs. */
  get inputArgs(): readonly ArgDef[] {
    return this.#inputArgs ??= this.#args(this.#init.inputs);
  }

  /** Outputs. */
  get outputArgs(): readonly ArgDef[] {
    return this.#outputArgs ??= this.#args(this.#init.outputs);
  }

  /** True for each host input, by position of its argument. */
  get isHostInput(): readonly boolean[] {
    const { hostInputs } = this.#init;
    return this.#isHostInput ??= this.inputArgs.map((a) => hostInputs?.includes(a.name) ?? false);
  }

  #args(texts: readonly string[]): ArgDef[] {
    return texts.map((text) => parseArg(this.#init.name, text, this.attrDefs));
  }
}

/** Attributes by their text, which most ops share with others. */
const knownAttrs = new Map<string, AttrDef>();

function parseArg(op: string, text: string, attrs: readonly AttrDef[]): ArgDef {
  const m = /^(\w+): (?:(\w+) \* )?(\w+)$/.exec(text);
  if (!m) {
    throw new ValueError(
      `Cannot read argument "${text}" of op "${op}": wanted "name: T" or "name: N * T"`,
    );
  }
  const [, name, numberAttr, type] = m;
  const attr = attrs.find((a) => a.name === type);
  const base = numberAttr ? { name, numberAttr } : { name };
  if (attr?.type === "list(type)") return { ...base, typeListAttr: type };
  if (attr?.type === "type") return { ...base, typeAttr: type };
  return { ...base, dtype: asDType(type) };
}

function parseAttr(op: string, text: string): AttrDef {
  const m = /^(\w+): ([^=]+?)(?: >= (\d+))?(?: = (.*))?$/.exec(text);
  if (!m) {
    throw new ValueError(
      `Cannot read attribute "${text}" of op "${op}": wanted "name: type = default"`,
    );
  }
  const [, name, spec, least, dflt] = m;
  const set = /^\{(.*)\}$/.exec(spec);
  const group = DTYPE_GROUPS[spec];
  let def: AttrDef;
  if (set) def = { name, type: "type", allowed: set[1].split(",").map((t) => asDType(t.trim())) };
  else if (group) def = { name, type: "type", allowed: group };
  else def = { name, type: spec, ...(least === undefined ? {} : { least: Number(least) }) };
  if (dflt === undefined) return def;
  return { ...def, default: def.type === "type" ? asDType(dflt) : JSON.parse(dflt) };
}

/** Attributes with defaults and inferred dtypes filled in, and the dtype of each output. */
export interface Bound {
  readonly attrs: Attrs;
  readonly outputs: readonly DType[];
}

/** Most outputs of an op: each is an object, and a shape, before anything else of the op is known. */
const MOST_OUTPUTS = 2 ** 20;

/** Checks a number of outputs. Throws `ValueError` for a negative one, and for more than there can be. */
function countOf(count: number, attr: string): number {
  if (count >= 0 && count <= MOST_OUTPUTS) return count;
  throw new ValueError(
    `Value for attr '${attr}' of ${count} must be from 0 to ${MOST_OUTPUTS}`,
  );
}

/** Checks inputs against the signature. Throws `TypeError` with TensorFlow's phrases for dtypes that do not fit. */
export function bindSignature(def: OpDef, inputs: readonly Spec[], attrs: Attrs): Bound {
  const { inputArgs, outputArgs, attrDefs } = def.signature;
  const full: Record<string, unknown> = {};
  for (const a of attrDefs) if (a.default !== undefined) full[a.name] = a.default;
  for (const k of Object.keys(attrs)) if (attrs[k] !== undefined) full[k] = attrs[k];
  const boundBy: Record<string, string> = {};
  let i = 0;
  for (let a = 0; a < inputArgs.length; a++) {
    const arg = inputArgs[a];
    const last = a === inputArgs.length - 1;
    let count = 1;
    if (arg.typeListAttr) {
      const list = full[arg.typeListAttr] as DType[] | undefined;
      count = list ? list.length : last ? inputs.length - i : 0;
      if (!list) full[arg.typeListAttr] = inputs.slice(i, i + count).map((s) => s.dtype);
    } else if (arg.numberAttr) {
      count = (full[arg.numberAttr] as number | undefined) ??
        inputs.length - i - (inputArgs.length - 1 - a);
      full[arg.numberAttr] = count;
    }
    for (let k = 0; k < count; k++, i++) {
      const spec = inputs[i];
      if (spec === undefined) {
        throw new TypeError(
          `Missing input '${arg.name}' of '${def.name}' Op: received ${inputs.length} inputs`,
        );
      }
      const want = arg.typeListAttr ? (full[arg.typeListAttr] as DType[])[k] : arg.dtype;
      if (want !== undefined) {
        if (want !== spec.dtype) {
          throw new TypeError(
            `Input '${arg.name}' of '${def.name}' Op has type ${spec.dtype} that does not match expected type of ${want}`,
          );
        }
      } else if (arg.typeAttr) bindType(def, arg, arg.typeAttr, spec.dtype, full, boundBy);
    }
  }
  if (i < inputs.length) {
    throw new TypeError(
      `Too many inputs for '${def.name}' Op: received ${inputs.length}, wanted ${i}`,
    );
  }
  for (const a of attrDefs) {
    if (full[a.name] === undefined) {
      throw new ValueError(`Missing attr '${a.name}' of '${def.name}' Op`);
    }
    if (!isKind(a.type, full[a.name])) {
      throw new TypeError(
        `Expected ${a.type} for argument '${a.name}' of '${def.name}' Op, but got ${
          describe(full[a.name])
        }`,
      );
    }
    if (a.type === "type" && a.allowed && !a.allowed.includes(full[a.name] as DType)) {
      throw new TypeError(
        `Value passed to parameter '${
          boundBy[a.name] ?? a.name
        }' of '${def.name}' Op has DataType ${full[a.name]} not in list of allowed values: ${
          a.allowed.join(", ")
        }`,
      );
    }
  }
  const outputs: DType[] = [];
  for (const arg of outputArgs) {
    if (arg.typeListAttr) outputs.push(...(full[arg.typeListAttr] as DType[]));
    else {
      const n = arg.numberAttr ? countOf(full[arg.numberAttr] as number, arg.numberAttr) : 1;
      const t = arg.dtype ?? full[arg.typeAttr!] as DType;
      for (let k = 0; k < n; k++) outputs.push(t);
    }
  }
  return { attrs: full, outputs };
}

/** The last binding of each op, for callers that bind the same again and again. */
const last: ({ dtypes: readonly DType[]; given: Attrs; full: Attrs } | undefined)[] = [];

/** Returns the attributes of {@linkcode bindSignature}. Throws as that does. */
export function boundAttrs(def: OpDef, inputs: readonly Spec[], given: Attrs): Attrs {
  const known = last[def.id];
  if (known !== undefined && isOf(known.dtypes, inputs) && sameAttrs(known.given, given)) {
    return known.full;
  }
  const full = bindSignature(def, inputs, given).attrs;
  if (isPlain(given)) last[def.id] = { dtypes: inputs.map((x) => x.dtype), given, full };
  return full;
}

/** True for attributes that may be kept: functions and objects must not outlive their users. */
function isPlain(attrs: Attrs): boolean {
  for (const name in attrs) {
    const type = typeof attrs[name];
    if (type === "object" || type === "function") return false;
  }
  return true;
}

function isOf(dtypes: readonly DType[], inputs: readonly Spec[]): boolean {
  if (dtypes.length !== inputs.length) return false;
  for (let i = 0; i < dtypes.length; i++) if (dtypes[i] !== inputs[i].dtype) return false;
  return true;
}

/** True where attributes have equal plain values; lists and other objects equal themselves alone. */
function sameAttrs(a: Attrs, b: Attrs): boolean {
  if (a === b) return true;
  let more = 0;
  for (const name in a) {
    if (!Object.is(a[name], b[name])) return false;
    more++;
  }
  for (const _ in b) more--;
  return more === 0;
}

/** True where the value fits an attribute of this type, as far as JavaScript tells. */
function isKind(type: string, value: unknown): boolean {
  switch (type) {
    case "bool":
      return typeof value === "boolean";
    case "float":
    case "int":
      return typeof value === "number";
    case "string":
      return typeof value === "string" || value instanceof Uint8Array;
    default:
      return !type.startsWith("list") || value === null || Array.isArray(value);
  }
}

function bindType(
  def: OpDef,
  arg: ArgDef,
  attr: string,
  dtype: DType,
  full: Record<string, unknown>,
  boundBy: Record<string, string>,
): void {
  const known = full[attr] as DType | undefined;
  if (
    known === undefined ||
    (!(attr in boundBy) && def.signature.attrDefs.find((a) => a.name === attr)?.default === known)
  ) {
    full[attr] = dtype;
  } else if (known !== dtype) {
    throw new TypeError(
      `Input '${arg.name}' of '${def.name}' Op has type ${dtype} that does not match type ${known} of argument '${
        boundBy[attr] ?? attr
      }'`,
    );
  }
  boundBy[attr] ??= arg.name;
}
