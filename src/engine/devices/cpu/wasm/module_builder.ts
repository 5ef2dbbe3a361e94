/** A WebAssembly module: one imported memory, imported and own functions, exports. */
import { ByteWriter } from "./bytes.ts";
import { FunctionBuilder, type FunctionRef, Local, type Locals } from "./function_builder.ts";
import { typeByte, type ValueType } from "./value.ts";
import { Error } from "../../../core/throwing/builtin_errors.ts";

/** The memory a module imports as `env.memory`. */
export interface MemoryImport {
  readonly shared: boolean;
  /** Pages that always exist: engines that check addresses in code check offsets below it once, when compiling. */
  readonly minimum?: number;
  /** Upper limit in pages of 64 KiB; shared memories must name theirs. */
  readonly maximum?: number;
}

/** Largest memory of 32-bit addresses, in pages. */
export const MAX_PAGES = 65536;

/** Collects functions and writes the module. */
export class ModuleBuilder {
  readonly #memory: MemoryImport;
  readonly #types: string[] = [];
  readonly #imports: { name: string; type: number }[] = [];
  readonly #functions: { name: string | null; type: number; body: number[] }[] = [];

  constructor(memory: MemoryImport) {
    this.#memory = memory;
  }

  /** Imports `env[name]`. Imports come before own functions. */
  import<const P extends readonly ValueType[], R extends ValueType | null>(
    name: string,
    params: P,
    result: R,
  ): FunctionRef<P, R> {
    if (this.#functions.length > 0) {
      throw new Error(`Cannot import ${name}: imports come before functions`);
    }
    this.#imports.push({ name, type: this.#type(params, result) });
    return { index: this.#imports.length - 1, params, result };
  }

  /** Adds a function; `name` exports it, null keeps it internal. */
  function<const P extends readonly ValueType[], R extends ValueType | null>(
    name: string | null,
    params: P,
    result: R,
    body: (f: FunctionBuilder, ...params: Locals<P>) => void,
  ): FunctionRef<P, R> {
    const f = new FunctionBuilder(params);
    body(f, ...params.map((type, i) => new Local(type, i)) as unknown as Locals<P>);
    this.#functions.push({ name, type: this.#type(params, result), body: f.finish() });
    return { index: this.#imports.length + this.#functions.length - 1, params, result };
  }

  #type(params: readonly ValueType[], result: ValueType | null): number {
    const w = new ByteWriter().u8(0x60).u32(params.length).all(params.map(typeByte));
    const text = w.sized(result === null ? [] : [typeByte(result)]).bytes.join();
    const known = this.#types.indexOf(text);
    return known >= 0 ? known : this.#types.push(text) - 1;
  }

  finish(): Uint8Array<ArrayBuffer> {
    const { shared, minimum = 0, maximum = MAX_PAGES } = this.#memory;
    const limits = (w: ByteWriter): ByteWriter =>
      shared ? w.u8(3).u32(minimum).u32(maximum) : w.u8(0).u32(minimum);
    const imports = [
      (w: ByteWriter) => limits(w.name("env").name("memory").u8(2)),
      ...this.#imports.map(({ name, type }) => (w: ByteWriter) =>
        w.name("env").name(name).u8(0).u32(type)
      ),
    ];
    const first = this.#imports.length;
    const exported = this.#functions.flatMap(({ name }, i) =>
      name === null ? [] : [{ name, index: first + i }]
    );
    return new ByteWriter()
      .all([0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0])
      .section(1, this.#types, (w, t) => w.all(t.split(",").map(Number)))
      .section(2, imports, (w, write) => write(w))
      .section(3, this.#functions, (w, { type }) => w.u32(type))
      .section(7, exported, (w, { name, index }) => w.name(name).u8(0).u32(index))
      .section(10, this.#functions, (w, { body }) => w.sized(body))
      .bytes.slice();
  }
}
