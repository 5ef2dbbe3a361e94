/** The namespace `tf.lookup`: tables from strings or numbers to others. */
import { counted, showAs } from "../../core/arrays/shown.ts";
import { apply, apply1, currentInterpreter } from "../../core/apply.ts";
import { optionCheck, wrongArgument } from "../../core/arguments.ts";
import { toNdArray } from "../../core/convert.ts";
import { asDType, type DType, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { Tensor, type TensorLike, type TrackedParts } from "../../core/tensor.ts";
import { LookupTable } from "../host/lookup_table.ts";
import { cast } from "../array/cast.ts";
import { asTensor, castInput, toInput } from "../input.ts";
import { add } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { asString, toHashBucketFast } from "./strings.ts";
import { brief } from "../../core/text.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";

/** Dtypes of a table, where they do not follow from its keys and values. */
export interface TableDTypes {
  /** Dtype of keys. */
  readonly keyDtype?: DType;
  /** Dtype of values. */
  readonly valueDtype?: DType;
}

const checkDTypes = optionCheck<TableDTypes>("KeyValueTensorInitializer", {
  keyDtype: true,
  valueDtype: true,
});

function hostArray(x: TensorLike, dtype: DType | undefined): NdArray {
  const array = x instanceof Tensor ? x.ndarraySync() : toNdArray(x);
  return dtype === undefined || dtype === array.dtype ? array : toNdArray(array, { dtype });
}

/** Keys and their values, for a table. Follows TensorFlow `tf.lookup.KeyValueTensorInitializer`. Throws `ValueError` for other numbers of them. */
export class KeyValueTensorInitializer {
  /** The keys: a vector. */
  readonly keys: NdArray;
  /** The value of each. */
  readonly values: NdArray;

  /** Takes vectors of keys and values; tensors are read. */
  constructor(keys: TensorLike, values: TensorLike, options: TableDTypes = {}) {
    checkDTypes(options);
    this.keys = hostArray(keys, options.keyDtype && asDType(options.keyDtype));
    this.values = hostArray(values, options.valueDtype && asDType(options.valueDtype));
    if (this.keys.rank === 1 && this.values.rank === 1 && this.keys.size === this.values.size) {
      return;
    }
    throw new ValueError(
      `Cannot make a table of keys of shape [${this.keys.shape}] and values of shape [${this.values.shape}]: wanted vectors of one length`,
    );
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const { keys, values } = this;
    return `<tf.lookup.KeyValueTensorInitializer ${keys.dtype} to ${values.dtype}: ${
      counted(keys.size, "key")
    }>`;
  }
}
showAs(KeyValueTensorInitializer);

/** The common part of tables. */
abstract class HashTable {
  /** Dtype of keys. */
  readonly keyDtype: DType;
  /** Dtype of values. */
  readonly valueDtype: DType;
  readonly #default: NdArray;
  readonly #op: string;
  /** Its contents. */
  protected readonly table: LookupTable;

  constructor(op: string, dtypes: readonly [DType, DType], defaultValue: TensorLike) {
    [this.keyDtype, this.valueDtype] = dtypes;
    this.#op = op;
    this.#default = hostArray(defaultValue, dtypes[1]);
    if (this.#default.rank !== 0) {
      throw new ValueError(
        `Cannot make a table with a default value of shape [${this.#default.shape}]: wanted a scalar`,
      );
    }
    this.table = new LookupTable(op, dtypes, { isMutable: op.startsWith("Mutable") });
  }

  /** The handle by which ops take the table: in a graph the output of a node. */
  protected handle(): Tensor {
    if (!currentInterpreter().symbolic) return this.table.handle;
    return apply1(lookupOp(this.#op)!, [], {
      key_dtype: this.keyDtype,
      value_dtype: this.valueDtype,
      _table: this.table,
    });
  }

  /** Applies an op to the table. */
  protected on(op: string, ...inputs: (Tensor | NdArray)[]): Tensor[] {
    return apply(lookupOp(op) as OpDef, [this.handle(), ...inputs]);
  }

  /** @internal Converts keys. Throws `TypeError` for those of another dtype. */
  keysOf(keys: TensorLike, fn: string): Tensor | NdArray {
    const dtype = keys instanceof Tensor || keys instanceof NdArray ? undefined : this.keyDtype;
    const input = toInput(keys, "keys", fn, { dtype });
    if (input.dtype === this.keyDtype) return input;
    if (isInteger(input.dtype) && isInteger(this.keyDtype)) return castInput(input, this.keyDtype);
    throw wrongArgument(keys, "keys", fn, `keys of dtype ${this.keyDtype}`);
  }

  /**
   * The value of each key, in the shape of the keys; the default value for keys that the table does not have. TensorFlow op
   * `LookupTableFindV2`. Throws `TypeError` for keys of another dtype.
   */
  lookup(keys: TensorLike): Tensor {
    return this.on("LookupTableFindV2", this.keysOf(keys, "lookup"), this.#default)[0];
  }

  /** The number of keys; int64. TensorFlow op `LookupTableSizeV2`. */
  size(): Tensor {
    return this.on("LookupTableSizeV2")[0];
  }

  /** @internal */
  trackedParts(): TrackedParts {
    return {};
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.lookup ${this.table.name} ${this.keyDtype} to ${this.valueDtype}: ${
      counted(this.table.size, "key")
    }>`;
  }
}
showAs(HashTable);

function checkInitializer(initializer: unknown, fn: string): void {
  if (initializer instanceof KeyValueTensorInitializer) return;
  throw wrongArgument(initializer, "initializer", fn, "a KeyValueTensorInitializer");
}

/**
 * A table that is filled once. It is looked up in eager code, functions, graphs and datasets. Follows TensorFlow
 * `tf.lookup.StaticHashTable`. Throws `InvalidArgumentError` for a key with two values.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const words = new tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], { valueDtype: "int32" });
 * const table = new tf.lookup.StaticHashTable(words, -1);
 * console.log(await table.lookup(["b", "x"]).array()); // [2, -1]
 * ```
 */
export class StaticHashTable extends HashTable {
  /** Fills a table; `defaultValue` is the value of keys that are not in it. */
  constructor(initializer: KeyValueTensorInitializer, defaultValue: TensorLike) {
    checkInitializer(initializer, "StaticHashTable");
    const { keys, values } = initializer;
    super("HashTableV2", [keys.dtype, values.dtype], defaultValue);
    this.table.fill(keys, values);
  }
}

/**
 * A table that may be changed, by ops that keep their order in functions and graphs. Follows TensorFlow
 * `tf.lookup.experimental.MutableHashTable`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const table = new tf.lookup.MutableHashTable("string", "float32", 0);
 * table.insert(["a"], [1.5]);
 * console.log(await table.lookup(["a", "b"]).array()); // [1.5, 0]
 * ```
 */
export class MutableHashTable extends HashTable {
  /** Makes an empty table. */
  constructor(keyDtype: DType, valueDtype: DType, defaultValue: TensorLike) {
    super("MutableHashTableV2", [asDType(keyDtype), asDType(valueDtype)], defaultValue);
  }

  /** Adds keys, or replaces their values. TensorFlow op `LookupTableInsertV2`. */
  insert(keys: TensorLike, values: TensorLike): void {
    const dtype = values instanceof Tensor || values instanceof NdArray
      ? undefined
      : this.valueDtype;
    const given = toInput(values, "values", "insert", { dtype });
    if (given.dtype !== this.valueDtype) {
      throw wrongArgument(values, "values", "insert", `values of dtype ${this.valueDtype}`);
    }
    this.on("LookupTableInsertV2", this.keysOf(keys, "insert"), given);
  }

  /** Takes keys out; others are left alone. TensorFlow op `LookupTableRemoveV2`. */
  remove(keys: TensorLike): void {
    this.on("LookupTableRemoveV2", this.keysOf(keys, "remove"));
  }

  /** @internal */
  override trackedParts(): TrackedParts {
    const { keyDtype, valueDtype, table } = this;
    return {
      values: {
        attribute: "table",
        endings: ["-keys", "-values"],
        save() {
          const { keys, values } = table.entries();
          return [keys, values];
        },
        take([keys, values]) {
          if (keys.dtype === keyDtype && values.dtype === valueDtype && keys.size === values.size) {
            return () => table.fill(keys, values);
          }
          throw new ValueError(
            `Cannot restore a table of ${keyDtype} to ${valueDtype}: the checkpoint has ${keys.size} keys of ${keys.dtype}, ${values.size} values of ${values.dtype}`,
          );
        },
      },
    };
  }

  /** All keys and their values. TensorFlow op `LookupTableExportV2`. */
  export(): [keys: Tensor, values: Tensor] {
    const [keys, values] = apply(lookupOp("LookupTableExportV2")!, [this.handle()], {
      Tkeys: this.keyDtype,
      Tvalues: this.valueDtype,
    });
    return [keys, values];
  }
}

/** Makes the values int32, as numbers of JavaScript are where no dtype is said; int64 stays. */
function withIntegers(given: KeyValueTensorInitializer): KeyValueTensorInitializer {
  const { keys, values } = given;
  if (values.dtype === "int32" || values.dtype === "int64") return given;
  const numbers = Array.from(values.data as ArrayLike<number | bigint>, Number);
  if (!numbers.every((n) => n === (n | 0))) {
    throw new TypeError(
      `Cannot make a vocabulary of ${values.dtype} values: wanted integers of 32 bits`,
    );
  }
  const integers = new NdArray("int32", [keys.size], Int32Array.from(numbers));
  return new KeyValueTensorInitializer(keys, integers);
}

/**
 * A table of a vocabulary: words that it does not have are numbered by their hash, in `numOovBuckets` numbers behind those of the table.
 * Follows TensorFlow `tf.lookup.StaticVocabularyTable`. Throws `ValueError` for no bucket.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const table = tf.lookup.StaticVocabularyTable.of(["a", "b"], 1);
 * console.log(await table.lookup(["b", "a", "x"]).array()); // [1, 0, 2]
 * ```
 */
export class StaticVocabularyTable {
  readonly #table: StaticHashTable | null;
  readonly #size: number;
  readonly #buckets: number;

  /** Takes words and their numbers from 0 on, integers of any dtype; null for a table that has none and hashes all. */
  constructor(initializer: KeyValueTensorInitializer | null, numOovBuckets: number) {
    if (!(Number.isInteger(numOovBuckets) && numOovBuckets > 0)) {
      throw new ValueError(
        `Cannot make a vocabulary with numOovBuckets ${
          brief(numOovBuckets)
        }: wanted a whole number of at least 1`,
      );
    }
    this.#buckets = numOovBuckets;
    this.#size = initializer?.keys?.size ?? 0;
    if (initializer === null) this.#table = null;
    else {
      checkInitializer(initializer, "StaticVocabularyTable");
      this.#table = new StaticHashTable(withIntegers(initializer), -1);
    }
  }

  /** A table of these words, numbered from 0 on. */
  static of(words: TensorLike, numOovBuckets: number): StaticVocabularyTable {
    const keys = hostArray(words, "string");
    const numbers = new NdArray(
      "int32",
      [keys.size],
      Int32Array.from({ length: keys.size }, (_, i) => i),
    );
    return new StaticVocabularyTable(new KeyValueTensorInitializer(keys, numbers), numOovBuckets);
  }

  /** The number of each word; int64 for a table of int64 values or of none, int32 for others. */
  lookup(words: TensorLike): Tensor {
    const given = this.#table === null || this.#table.keyDtype === "string"
      ? asTensor(toInput(words, "words", "lookup"))
      : asString(this.#table.keysOf(words, "lookup"));
    const hashed = toHashBucketFast(given, this.#buckets);
    if (this.#table === null) return cast(hashed, "int64");
    const known = this.#table.lookup(words), others = add(cast(hashed, known.dtype), this.#size);
    return where(equal(known, -1), others, known);
  }

  /** @internal */
  trackedParts(): TrackedParts {
    return {};
  }

  /** The number of words and buckets. */
  size(): number {
    return this.#size + this.#buckets;
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const { size, buckets } = { size: this.#size, buckets: this.#buckets };
    return `<tf.lookup.StaticVocabularyTable: ${counted(size, "word")}, ${
      counted(buckets, "bucket")
    } for others>`;
  }
}
showAs(StaticVocabularyTable);
