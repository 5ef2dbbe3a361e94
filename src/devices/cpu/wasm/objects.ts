/**
 * Objects of the engine's own heap: structures of vectors and arrays of them. An engine that checks each address of linear memory
 * reads their fields unchecked.
 * May import bytes, module_builder and value.
 */
import { unsigned } from "./bytes.ts";
import type { GlobalRef, ModuleBuilder } from "./module_builder.ts";
import { type Code, lift, type Operand, type RefType, Value, type VectorType } from "./value.ts";

const VECTOR = 0x7b, MUTABLE = 1, OBJECT = 0xfb, GLOBAL_GET = 0x23, GLOBAL_SET = 0x24;

/** A type of structures of a module. */
export class VectorStruct {
  /** References to one. */
  readonly ref: RefType;
  readonly #number: number[];

  /** Structures of `fields` vectors. */
  constructor(m: ModuleBuilder, fields: number) {
    const list = Array.from({ length: fields }, () => [VECTOR, MUTABLE]).flat();
    const number = m.type([0x5f, ...unsigned(fields), ...list]);
    this.ref = `ref ${number}`;
    this.#number = unsigned(number);
  }

  /** A new structure of zeros. */
  make(): Value<RefType> {
    return new Value(this.ref, [OBJECT, 1, this.#number]);
  }
  /** A field. */
  get<T extends VectorType>(type: T, object: Value<RefType>, field: number): Value<T> {
    return new Value(type, [object.code, OBJECT, 2, this.#number, unsigned(field)]);
  }
  /** Sets a field. */
  set(object: Value<RefType>, field: number, value: Value<VectorType>): Code {
    return [object.code, value.code, OBJECT, 5, this.#number, unsigned(field)];
  }
}

/** A type of arrays of a module, of structures. */
export class StructArray {
  /** References to one. */
  readonly ref: RefType;
  readonly #element: VectorStruct;
  readonly #number: number[];

  /** Arrays of references to `element`, none of them null. */
  constructor(m: ModuleBuilder, element: VectorStruct) {
    const number = m.type([0x5e, 0x64, Number(element.ref.slice(4)), MUTABLE]);
    this.ref = `ref ${number}`;
    this.#element = element;
    this.#number = unsigned(number);
  }

  /** A new array that holds one new structure `length` times. */
  make(length: Operand<"i32">): Value<RefType> {
    return new Value(this.ref, [
      this.#element.make().code,
      lift("i32", length).code,
      OBJECT,
      6,
      this.#number,
    ]);
  }
  /** An element. */
  get(array: Value<RefType>, index: Operand<"i32">): Value<RefType> {
    const code = [array.code, lift("i32", index).code, OBJECT, 11, this.#number];
    return new Value(this.#element.ref, code);
  }
  /** Sets an element to a new structure. */
  renew(array: Value<RefType>, index: Operand<"i32">): Code {
    const code = [array.code, lift("i32", index).code, this.#element.make().code];
    return [code, OBJECT, 14, this.#number];
  }
}

/** Null, of a type of objects. */
export function nullOf(type: RefType): Code {
  return [0xd0, unsigned(Number(type.slice(4)))];
}

/** 1 where a reference is null. */
export function isNull(x: Value<RefType>): Value<"i32"> {
  return new Value("i32", [x.code, 0xd1]);
}

/** The value of a variable of the module. */
export function getGlobal<T extends GlobalRef["type"]>({ type, index }: GlobalRef<T>): Value<T> {
  return new Value(type, [GLOBAL_GET, unsigned(index)]);
}
/** Sets a variable of the module. */
export function setGlobal<T extends GlobalRef["type"]>(
  { type, index }: GlobalRef<T>,
  value: Operand<T>,
): Code {
  return [lift(type, value).code, GLOBAL_SET, unsigned(index)];
}
