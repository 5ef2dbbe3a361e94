/** The WebAssembly emitter: what it writes is valid and means what it says. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { signed, unsigned } from "../../../src/engine/devices/cpu/wasm/bytes.ts";
import { probeFeatures } from "../../../src/engine/devices/cpu/wasm/features.ts";
import type { FunctionBuilder } from "../../../src/engine/devices/cpu/wasm/function_builder.ts";
import * as instructions from "../../../src/engine/devices/cpu/wasm/instructions.ts";
import { ModuleBuilder } from "../../../src/engine/devices/cpu/wasm/module_builder.ts";
import {
  constant,
  type Value,
  type ValueType,
} from "../../../src/engine/devices/cpu/wasm/value.ts";

const { f32, f32x4, f64x2, i32, i32x4 } = instructions;

/** Runs a function over a memory of one page. */
function runModule(
  body: (f: FunctionBuilder) => void,
  fill: (view: DataView) => void = () => {},
): DataView {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const m = new ModuleBuilder({ shared: false });
  m.function("run", [], null, body);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(m.finish()), {
    env: { memory },
  });
  const view = new DataView(memory.buffer);
  fill(view);
  (instance.exports.run as () => void)();
  return view;
}

Deno.test("LEB128 numbers have the bytes of the standard", () => {
  assertEquals(unsigned(0), [0]);
  assertEquals(unsigned(127), [0x7f]);
  assertEquals(unsigned(624485), [0xe5, 0x8e, 0x26]);
  assertEquals(unsigned(2 ** 32 - 1), [0xff, 0xff, 0xff, 0xff, 0x0f]);
  assertEquals(signed(-1), [0x7f]);
  assertEquals(signed(63), [0x3f]);
  assertEquals(signed(64), [0xc0, 0]);
  assertEquals(signed(-123456), [0xc0, 0xbb, 0x78]);
});

Deno.test("every instruction of every table makes a valid module", () => {
  const { relaxed } = probeFeatures();
  let count = 0;
  for (const [type, table] of Object.entries(instructions)) {
    for (const [name, make] of Object.entries(table)) {
      if (name.startsWith("relaxed") && !relaxed) continue;
      const m = new ModuleBuilder({ shared: false });
      m.function(
        "run",
        [],
        null,
        (f) => f.store(0, sample(type as ValueType, name, make as Instruction)),
      );
      assert(WebAssembly.validate(m.finish()), `${type}.${name}`);
      count++;
    }
  }
  assert(count > 180, `only ${count} instructions`);
});

Deno.test("features are probed as modules with these instructions are taken", () => {
  const taken = (shared: boolean, make: () => Value): boolean => {
    const m = new ModuleBuilder({ shared, maximum: 1 });
    m.function("run", [], null, (f) => f.store(0, make()));
    return WebAssembly.validate(m.finish());
  };
  const { simd, relaxed, shared } = probeFeatures();
  assertEquals({ simd, relaxed, shared }, {
    simd: taken(false, () => f32x4.add(f32x4.load(0), 1)),
    relaxed: taken(false, () => f32x4.relaxedMadd(f32x4.load(0), f32x4.load(16), 1)),
    // Pages that are not isolated have no memory to share.
    shared: typeof SharedArrayBuffer === "function" && taken(true, () => f32x4.const(0)),
  });
  const { validate } = WebAssembly, asked: string[] = [];
  WebAssembly.validate = (bytes) => asked.push(new Uint8Array(bytes as ArrayBuffer).join()) < 0;
  try {
    const none = probeFeatures();
    assertEquals([none.simd, none.relaxed, none.shared], [false, false, false]);
  } finally {
    WebAssembly.validate = validate;
  }
  assertEquals(asked.length, 2, "without vectors no memory is asked for");
});

type Instruction = (...args: unknown[]) => Value;

/** Applies an instruction to constants of the types that make it valid. */
function sample(type: ValueType, name: string, make: Instruction): Value {
  const of = (t: ValueType): Value => constant(t, 1);
  const lanes: Record<string, ValueType> = {
    f32x4: "f32",
    f64x2: "f64",
    i32x4: "i32",
    i8x16: "i32",
    f32: "i32",
    i32: "i32",
  };
  if (name === "const") return make(1);
  if (/^load/.test(name)) return make(0, 16);
  if (name === "splat") return make(of(lanes[type]));
  if (name === "lane") return make(of(type), 1);
  if (name === "withLane") return make(of(type), 1, of(lanes[type]));
  if (name === "shuffle") {
    const order = type === "i8x16" ? Array.from({ length: 16 }, (_, i) => 2 * i) : [0, 5, 2, 7];
    return make(of(type), of(type), order);
  }
  if (name === "select") return make(of(type), of(type), of(type));
  if (name === "ofBits") return make(of(type === "f32" ? "i32" : type));
  if (name === "relaxedDot") return make(of("i8x16"), of("i8x16"), of(type));
  if (name === "relaxedMadd") return make(of(type), of(type), of(type));
  if (/^(shl|shr|shrU)$/.test(name)) return make(of(type), of("i32"));
  const from = /^of(?:Low|High)?([FIU]\d+)/.exec(name)?.[1];
  if (from) {
    const scalars: Record<string, ValueType> = { F32: "f32", F64: "f64", I32: "i32" };
    const vectors: Record<string, ValueType> = {
      F32: "f32x4",
      F64: "f64x2",
      I32: "i32x4",
      U32: "i32x4",
      U16: "i16x8",
      U8: "i8x16",
    };
    return make(of((type.includes("x") ? vectors : scalars)[from]));
  }
  if (/^(anyTrue|allTrue|allBytesTrue|bitmask)$/.test(name)) return make(of("i32x4"));
  if (name === "narrow") {
    return make(of(type === "i8x16" ? "i16x8" : "i32x4"), of(type === "i8x16" ? "i16x8" : "i32x4"));
  }
  if (/^mul(Low|High)/.test(name)) return make(of("i32x4"), of("i32x4"));
  return make(of(type), of(type));
}

Deno.test("loops, branches, locals and lanes do what they say", () => {
  const view = runModule((f) => {
    const sum = f.variable("i32", 0);
    f.times(10, (i) => {
      f.if(i32.eq(i32.rem(i, 3), 0), () => f.advance(sum, i), () => f.advance(sum, 100));
    });
    f.store(0, sum);
    f.times(0, () => f.set(sum, -1));
    f.store(4, sum);
    f.block((leave) => {
      f.if(i32.gt(sum, 5), leave);
      f.store(4, i32.const(7));
    });
    const v = f.let(f32x4.add(f32x4.load(16), 0.5));
    f.store(16, f32x4.shuffle(v, f32x4.splat(f32.const(9)), [3, 2, 4, 0]));
    f.storeLane(32, v, 8, 1);
    f.store(48, f64x2.ofF32(v));
    f.store(64, i32x4.shl(i32x4.const(3), 4));
    f.fill(80, 7, 3);
    f.copy(84, 80, 4);
  }, (view) => [1, 2, 3, 4].forEach((x, i) => view.setFloat32(16 + 4 * i, x, true)));
  assertEquals(view.getInt32(0, true), 0 + 3 + 6 + 9 + 600);
  assertEquals(view.getInt32(4, true), 618);
  assertEquals([0, 1, 2, 3].map((i) => view.getFloat32(16 + 4 * i, true)), [4.5, 3.5, 9, 1.5]);
  assertEquals([0, 1].map((i) => view.getFloat32(32 + 4 * i, true)), [3.5, 4.5]);
  assertEquals([0, 1].map((i) => view.getFloat64(48 + 8 * i, true)), [1.5, 2.5]);
  assertEquals(view.getInt32(64, true), 48);
  assertEquals(view.getUint32(84, true), 0x00070707);
});

Deno.test("functions call each other and what is imported", () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const m = new ModuleBuilder({ shared: false });
  const twice = m.import("twice", ["f64"], "f64");
  const square = m.function(null, ["f64"], "f64", (f, x) => f.result(instructions.f64.mul(x, x)));
  m.function("run", ["f64"], "f64", (f, x) => f.result(f.call(square, f.call(twice, x))));
  assertThrows(() => m.import("late", [], null), Error, "imports come before functions");
  const instance = new WebAssembly.Instance(new WebAssembly.Module(m.finish()), {
    env: { memory, twice: (x: number) => 2 * x },
  });
  assertEquals((instance.exports.run as (x: number) => number)(3), 36);
});
