import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** A file with this header, padded or not, and body. */
function file(header: unknown, body: ArrayLike<number> = [], padding = ""): Uint8Array {
  const text = new TextEncoder().encode(
    (typeof header === "string" ? header : JSON.stringify(header)) + padding,
  );
  const bytes = new Uint8Array(8 + text.length + body.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(Array.from(body), 8 + text.length);
  return bytes;
}
const entry = (dtype: string, shape: number[], from: number, to: number): unknown => ({
  dtype,
  shape,
  data_offsets: [from, to],
});

Deno.test("readSafetensors() reads a file put together by hand", () => {
  const bytes = file(
    {
      __metadata__: { format: "pt" },
      b: entry("I16", [2], 4, 8),
      a: entry("F32", [], 0, 4),
      e: entry("F64", [0, 3], 8, 8),
    },
    [0, 0, 0x80, 0x3f, 1, 0, 0xfe, 0xff],
    "   ",
  );
  const { tensors, metadata } = tf.io.readSafetensors(bytes);
  assertEquals(metadata, { format: "pt" });
  assertEquals(
    Object.fromEntries(
      Object.entries(tensors).map(([k, v]) => [k, [v.dtype, v.shape, v.toArray()]]),
    ),
    { b: ["int16", [2], [1, -2]], a: ["float32", [], 1], e: ["float64", [0, 3], []] },
  );
});

testOnDevices(
  "writeSafetensors() writes what readSafetensors() reads, in every dtype of the format",
  async () => {
    const dtypes: tf.DType[] = [
      "bool",
      "uint8",
      "int8",
      "int16",
      "uint16",
      "float16",
      "bfloat16",
      "int32",
      "uint32",
      "float32",
      "float64",
      "int64",
      "uint64",
    ];
    const tensors = Object.fromEntries(dtypes.map((d) => [`x/${d}`, tf.cast([[1, 0, 3]], d)]));
    const bytes = await tf.io.writeSafetensors(tensors, { step: "12" });
    const back = tf.io.readSafetensors(bytes);
    assertEquals(back.metadata, { step: "12" });
    for (const [name, t] of Object.entries(tensors)) {
      const a = back.tensors[name];
      assertEquals([a.dtype, a.shape, a.toArray()], [t.dtype, [1, 3], t.ndarraySync().toArray()]);
    }
    // Wide elements first, so that every array is aligned.
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    assertEquals((8 + length) % 8, 0);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    for (const [name, t] of Object.entries(tensors)) {
      assertEquals(
        header[name].data_offsets[0] % (t.ndarraySync().data as Uint8Array).BYTES_PER_ELEMENT,
        0,
      );
    }
  },
);

Deno.test("readSafetensors() refuses what is damaged", () => {
  const { DataLossError, UnimplementedError } = tf.errors;
  const long = new Uint8Array(8);
  new DataView(long.buffer).setBigUint64(0, 2n ** 40n, true);
  const cases: [Uint8Array, new (...args: never[]) => Error, string][] = [
    [new Uint8Array(3), DataLossError, "it has 3 bytes"],
    [long, DataLossError, "at most 100000000"],
    [file({}).subarray(0, 9), DataLossError, "its header takes 2 bytes, 1 are there"],
    [file("{"), DataLossError, "no JSON"],
    [file("[]"), DataLossError, "no JSON object"],
    [file({ __metadata__: { a: 1 } }), DataLossError, "object of texts"],
    [
      file({ a: { dtype: "F32", shape: [1] } }),
      DataLossError,
      "wanted dtype, shape and data_offsets",
    ],
    [file({ a: entry("F32", [-1], 0, 4) }, [0, 0, 0, 0]), DataLossError, "wanted dtype, shape"],
    [file({ a: entry("F32", [2], 0, 4) }, [0, 0, 0, 0]), DataLossError, "spans 4 bytes, wanted 8"],
    [file({ a: entry("F32", [1], 0, 4) }, [0, 0]), DataLossError, "ends at byte 4, 2 are there"],
    [file({ a: entry("F8_E4M3", [1], 0, 1) }, [0]), UnimplementedError, "F8_E4M3"],
    [file({ a: entry("U8", [1], 1, 2) }, [0, 0]), DataLossError, "no gaps"],
    [
      file({ a: entry("U8", [2], 0, 2), b: entry("U8", [2], 1, 3) }, [0, 0, 0]),
      DataLossError,
      "no overlaps",
    ],
    [file({ a: entry("U8", [1], 0, 1) }, [0, 0]), DataLossError, "1 bytes follow"],
  ];
  for (const [bytes, kind, text] of cases) {
    assertThrows(() => tf.io.readSafetensors(bytes), kind, text);
  }
});

Deno.test("writeSafetensors() refuses what the format cannot hold", async () => {
  await assertRejects(
    () => tf.io.writeSafetensors({ s: tf.tensor(["a"]) }),
    TypeError,
    "no string",
  );
  await assertRejects(
    () => tf.io.writeSafetensors({ c: tf.complex([1], [2]) }),
    TypeError,
    "no complex64",
  );
  await assertRejects(
    () => tf.io.writeSafetensors({ __metadata__: tf.scalar(1) }),
    TypeError,
    "for itself",
  );
});

for (const suffix of [".safetensors", ".npz"]) {
  testOnDevices(
    `saveVariables() and loadVariables() keep variables in a ${suffix} file`,
    async () => {
      const path = await Deno.makeTempFile({ suffix });
      const model = {
        dense: { kernel: tf.variable([[1, 2]]), bias: tf.variable([3]) },
        steps: tf.variable(4, false, undefined, "int32"),
      };
      const all = [model.dense.kernel, model.dense.bias, model.steps];
      try {
        await tf.io.saveVariables(path, model);
        for (const v of all) v.assign(tf.zerosLike(v));
        await tf.io.loadVariables(path, model);
        assertEquals(all.map((v) => v.arraySync()), [[[1, 2]], [3], 4]);
      } finally {
        tf.dispose(all);
        await Deno.remove(path);
      }
    },
  );
}

testOnDevices(
  "saveVariables() and loadVariables() keep a tf.Module and its optimizer",
  async () => {
    class Layer extends tf.Module {
      w = tf.variable(tf.ones([2, 2]));
      note = "not a variable";
      constructor(readonly parts: { b: tf.Variable }[] = []) {
        super();
      }
    }
    class Model extends tf.Module {
      layers = [new Layer([{ b: tf.variable([1, 2]) }]), new Layer()];
    }
    const path = await Deno.makeTempFile({ suffix: ".safetensors" });
    using model = new Model(), again = new Model();
    const optimizer = tf.train.momentum(0.25, 0.5), other = tf.train.momentum(0.25, 0.5);
    const loss = ({ layers: [a, b] }: Model) => () =>
      tf.sum(tf.square(tf.add(tf.matMul(a!.w, b!.w), a!.parts[0]!.b)));
    try {
      optimizer.minimize(loss(model), false, model.trainableVariables);
      await tf.io.saveVariables(path, { model, optimizer });
      const names = Object.keys((await tf.io.readSafetensors(await Deno.readFile(path))).tensors);
      assertEquals(names.filter((name) => name.startsWith("model/")).sort(), [
        "model/layers/0/parts/0/b",
        "model/layers/0/w",
        "model/layers/1/w",
      ]);
      await tf.io.loadVariables(path, { model: again, optimizer: other });
      for (const [m, o] of [[model, optimizer], [again, other]] as const) {
        o.minimize(loss(m), false, m.trainableVariables);
      }
      for (const [i, v] of model.variables.entries()) {
        assertEquals(await again.variables[i]!.array(), await v.array());
      }
      await tf.io.saveVariables(path, model); // alone, by the names of its attributes
      await tf.io.loadVariables(path, again);
      await assertRejects(
        () => tf.io.saveVariables(path, { bare: new Date() } as never),
        TypeError,
        "wanted variables, optimizers and modules in arrays and objects",
      );
    } finally {
      await Deno.remove(path);
    }
  },
);

Deno.test("restoreVariables() assigns all or nothing", async () => {
  const { NotFoundError, InvalidArgumentError, DataLossError } = tf.errors;
  using a = tf.variable([1, 2], true, "restore/a"), b = tf.variable(3, true, "restore/b");
  const bytes = await tf.io.serializeVariables([a, b]);
  a.assign([0, 0]);
  using c = tf.variable(5, true, "restore/c"),
    wide = tf.variable([1, 2, 3]),
    whole = tf.variable([1, 2], true, undefined, "int32");
  await assertRejects(
    () => tf.io.restoreVariables([a], bytes),
    NotFoundError,
    'the file has "restore/b" besides; strict: false restores what both have',
  );
  await assertRejects(
    () => tf.io.restoreVariables([a, b, c], bytes),
    NotFoundError,
    'the file lacks "restore/c";',
  );
  const named = { "restore/a": wide, "restore/b": b };
  await assertRejects(
    () => tf.io.restoreVariables(named, bytes),
    InvalidArgumentError,
    "float32[2], the variable is float32[3]",
  );
  await assertRejects(
    () => tf.io.restoreVariables({ "restore/b": b, "restore/a": whole }, bytes),
    InvalidArgumentError,
    "int32",
  );
  await assertRejects(
    () => tf.io.restoreVariables([a, b], bytes.subarray(0, 20)),
    DataLossError,
    "Cannot read safetensors file: its header takes 128 bytes, 12 are",
  );
  await assertRejects(() => tf.io.serializeVariables([a, a]), tf.ValueError, "two of them");
  await assertRejects(
    () => tf.io.loadVariables("/nowhere/at/all.npz", [a]),
    NotFoundError,
    "no such file",
  );
  assertEquals([a.arraySync(), b.item()], [[0, 0], 3]);
  await tf.io.restoreVariables([a, c], bytes, { strict: false });
  assertEquals([a.arraySync(), c.item()], [[1, 2], 5]);
});

/** Variables of several sizes and dtypes: some are read together, some are larger than what is read together. */
function mixedVariables(seed: number): Record<string, tf.Variable> {
  const shapes: [tf.DType, number[]][] = [
    ["bool", [3]],
    ["float32", [700, 500]],
    ["int8", [5]],
    ["float16", [1025]],
    ["float32", []],
    ["int32", [300, 1001]],
    ["float32", [0, 4]],
    ["bool", [1_200_001]],
    ["float32", [7]],
  ];
  return Object.fromEntries(shapes.map(([dtype, shape], i) => {
    using values = tf.tidy(() =>
      tf.cast(tf.round(tf.mul(tf.randomUniform(shape, 0, 1, "float32", seed + i), 9)), dtype)
    );
    return [`v${i}`, tf.variable(values)];
  }));
}

/** Compares long arrays, whose difference as text would fill the memory. */
const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

async function sameValues(a: tf.Tensor, b: tf.Tensor): Promise<boolean> {
  const [x, y] = await Promise.all([a.ndarray(), b.ndarray()]);
  const bytes = ({ data }: tf.NdArray): Uint8Array => {
    const { buffer, byteOffset, byteLength } = data as Uint8Array;
    return new Uint8Array(buffer, byteOffset, byteLength);
  };
  return x.dtype === y.dtype && sameBytes(bytes(x), bytes(y));
}

testOnDevices("files of variables of all sizes are written and read in parts", async () => {
  const path = await Deno.makeTempFile({ suffix: ".safetensors" });
  const model = mixedVariables(1), others = mixedVariables(100);
  try {
    const before = tf.memory().numTensors;
    await tf.io.saveVariables(path, model);
    assertEquals(tf.memory().numTensors, before);
    const bytes = await Deno.readFile(path);
    assert(sameBytes(bytes, await tf.io.serializeVariables(model)));
    for (
      const load of [
        () => tf.io.loadVariables(path, others),
        () => tf.io.restoreVariables(others, bytes),
      ]
    ) {
      tf.tidy(() => Object.values(others).forEach((v) => v.assign(tf.zerosLike(v))));
      await load();
      for (const [name, v] of Object.entries(model)) {
        assert(await sameValues(others[name], v), name);
      }
    }
    assertEquals(tf.memory().numTensors, before);
    await Deno.truncate(path, bytes.length - 1);
    await assertRejects(
      () => tf.io.loadVariables(path, others),
      tf.errors.DataLossError,
      "ends at",
    );
    await Deno.writeFile(path, bytes.subarray(0, 100));
    await assertRejects(() => tf.io.loadVariables(path, others), tf.errors.DataLossError, "header");
    await Deno.writeFile(path, new Uint8Array(0));
    await assertRejects(
      () => tf.io.loadVariables(path, others),
      tf.errors.DataLossError,
      "0 bytes",
    );
    for (const [name, v] of Object.entries(model)) {
      assert(await sameValues(others[name], v), name);
    }
  } finally {
    tf.dispose([model, others]);
    await Deno.remove(path);
  }
});

testOnDevices(
  "saveVariables() writes the values of its call, whatever steps run meanwhile",
  async () => {
    const path = await Deno.makeTempFile({ suffix: ".safetensors" });
    const w = tf.variable(tf.fill([600, 600], 1)), v = tf.variable([1, 2]);
    const optimizer = tf.train.momentum(0.5, 0.5);
    const step = (): void => {
      optimizer.minimize(() => tf.add(tf.sum(w), tf.sum(v)), false, [w, v]);
    };
    try {
      step();
      const wanted = await tf.io.serializeVariables({ w, v, optimizer });
      const saved = tf.io.saveVariables(path, { w, v, optimizer });
      step();
      v.assign([8, 9]);
      await saved;
      assert(sameBytes(await Deno.readFile(path), wanted));
    } finally {
      tf.dispose([w, v]);
      await Deno.remove(path);
    }
  },
);

Deno.test("loadVariables() reads from a server, and names what it cannot read", async () => {
  using v = tf.variable([1, 2]);
  const bytes = await tf.io.serializeVariables({ v });
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    if (!request.url.endsWith("/a.safetensors")) return new Response("", { status: 404 });
    return new Response(bytes);
  });
  const home = `http://127.0.0.1:${server.addr.port}`;
  v.assign([0, 0]);
  await tf.io.loadVariables(`${home}/a.safetensors`, { v });
  assertEquals(v.arraySync(), [1, 2]);
  await assertRejects(
    () => tf.io.loadVariables(new URL(`${home}/b.safetensors`), { v }),
    tf.errors.NotFoundError,
    "404",
  );
  const folder = await Deno.makeTempDir();
  await assertRejects(
    () => tf.io.loadVariables(folder, { v }),
    tf.errors.FailedPreconditionError,
    `Cannot read ${folder}`,
  );
  await Deno.remove(folder);
});
