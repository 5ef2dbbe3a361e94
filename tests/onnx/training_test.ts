/**
 * Models that torch exported are trained: their gradients are those of torch and of finite differences, and twenty steps give torch's
 * losses. `train_goldens.py` writes what torch computes.
 */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, lora, type OnnxModel } from "@weft/weft/onnx";
import { readModel } from "../../src/onnx/file/read_model.ts";
import { type TestDevice, testOnDevices } from "../devices.ts";
import { THOROUGH } from "../effort.ts";
import { Pack } from "./pack.ts";

/** The training of a model in torch. */
interface Golden {
  readonly optimizer: "sgd" | "adam";
  readonly rate: number;
  /** Losses before each step, and after the last. */
  readonly losses: readonly number[];
  /** Weights by name: the gradient's product with a direction, and its norm. */
  readonly grads: Readonly<Record<string, readonly [product: number, norm: number]>>;
}

const GOLDENS: Readonly<Record<string, Golden>> = JSON.parse(
  await Deno.readTextFile(new URL("fixtures/training.json", import.meta.url)),
);

/** The models of a device: a GPU's shaders take their time to compile. */
const namesOn = (device: TestDevice, few: readonly string[]): readonly string[] =>
  device === "cpu" || THOROUGH ? Object.keys(GOLDENS) : few;

interface Trained {
  readonly model: OnnxModel;
  readonly file: Uint8Array;
  readonly loss: () => tf.Tensor;
}

/** A model with the loss of the goldens. */
async function trained(pack: Pack, name: string): Promise<Trained> {
  const one = pack.cases.find((c) => c.n === name)!, file = pack.model(one);
  const model = await loadOnnx(file);
  const feeds = pack.feeds(model, one.sets[0][0]);
  const loss = (): tf.Tensor =>
    tf.addN(
      Object.values(model.call(feeds) as Record<string, tf.Tensor>).flatMap((y) => {
        if (!y.dtype.startsWith("float")) return [];
        const size = y.shape.reduce((a, b) => a * b, 1);
        const want = Float32Array.from({ length: size }, (_, i) => Math.sin(1.3 * i));
        return [tf.mean(tf.square(tf.sub(y, tf.tensor(want, y.shape))))];
      }),
    );
  return { model, file, loss };
}

const direction = (size: number): Float32Array =>
  Float32Array.from({ length: size }, (_, i) => Math.sin(0.7 * i + 1));

async function dotOf(gradient: tf.Tensor): Promise<{ dot: number; norm: number }> {
  const values = await gradient.data() as Float32Array, by = direction(values.length);
  let dot = 0, square = 0;
  values.forEach((v, i) => {
    dot += v * by[i];
    square += v * v;
  });
  return { dot, norm: Math.sqrt(square) };
}

/** One weight for each kind of layer: an op and the place of the weight among its inputs. */
async function kindsOf(file: Uint8Array, weights: readonly string[]): Promise<Map<string, string>> {
  const kinds = new Map<string, string>(), { graph } = await readModel(file);
  for (const { op, inputs } of graph.nodes) {
    inputs.forEach((input, i) => {
      // Initialisers that are transposed or cut first have the kind of that node.
      if (weights.includes(input) && !kinds.has(`${op} ${i}`)) kinds.set(`${op} ${i}`, input);
    });
  }
  return kinds;
}

testOnDevices(
  "gradients of imported models are torch's, and finite differences",
  async (device) => {
    const pack = await Pack.read("models"), seen = new Set<string>();
    for (const name of namesOn(device, ["gru", "vad_like"])) {
      const { model, file, loss } = await trained(pack, name),
        { grads: want, losses } = GOLDENS[name];
      const all = Object.entries(model.variables).filter(([, v]) => v.trainable);
      assertEquals(all.map(([n]) => n).sort(), Object.keys(want).sort(), name);
      const value = tf.function(loss);
      const variables = all.map(([, v]) => v);
      const gradients = tf.function(() => Object.values(tf.variableGrads(value, variables).grads));
      const got = gradients() as tf.Tensor[];
      const largest = Math.max(...Object.values(want).map(([, norm]) => norm));
      for (const [i, [n]] of all.entries()) {
        const { dot } = await dotOf(got[i]), [product, norm] = want[n];
        const by = 2e-3 * norm + 1e-5 * largest;
        assert(
          Math.abs(dot - product) <= by,
          `${name}: ${n} is ${dot}, wanted ${product} of ${norm}`,
        );
      }
      // The loss moves along each kind of weight as its gradient says.
      for (const [kind, n] of await kindsOf(file, Object.keys(want))) {
        seen.add(kind);
        const i = all.findIndex(([own]) => own === n), v = all[i][1], before = v.readValue();
        const d = tf.tensor(direction(v.size), v.shape), { dot, norm } = await dotOf(got[i]);
        // The step is small beside the weights, and large enough for float32.
        const scale = Math.sqrt((await tf.mean(tf.square(before)).array() as number) + 1e-3);
        const step = 4e-3 * scale;
        const at = async (by: number): Promise<number> => {
          v.assign(tf.add(before, tf.mul(d, by)));
          return await (value() as tf.Tensor).array() as number;
        };
        const [up, down, up2, down2] = [
          await at(step),
          await at(-step),
          await at(step / 2),
          await at(-step / 2),
        ];
        v.assign(before);
        const [slope, half] = [(up - down) / (2 * step), (up2 - down2) / step];
        // Rounding of the loss, and the bend of the loss along the way, limit what differences can tell.
        const noise = 4e-7 * Math.abs(losses[0]) / step + 2 * Math.abs(slope - half);
        assert(
          Math.abs(half - dot) <= 2e-2 * (Math.abs(dot) + 0.1 * norm) + noise,
          `${name}: ${kind} "${n}": the loss moves by ${half}, the gradient says ${dot}`,
        );
      }
      model.dispose();
    }
    if (device === "cpu") {
      for (
        const op of [
          "Conv 1",
          "ConvTranspose 1",
          "Gather 0",
          "Gemm 1",
          "GRU 2",
          "LSTM 1",
          "LayerNormalization 1",
          "MatMul 1",
          "PRelu 1",
        ]
      ) {
        assert(seen.has(op), `${op} is among ${[...seen]}`);
      }
    }
  },
);

testOnDevices("imported models train for twenty steps as torch trains them", async (device) => {
  const pack = await Pack.read("models");
  for (const name of namesOn(device, ["gru", "resnet"])) {
    const { model, loss } = await trained(pack, name),
      { optimizer: kind, rate, losses } = GOLDENS[name];
    const optimizer = kind === "sgd" ? tf.train.sgd(rate) : tf.train.adam(rate, 0.9, 0.999, 1e-8);
    const step = tf.function(() => optimizer.minimize(loss, true));
    for (const [i, want] of losses.entries()) {
      const got = await (step() as tf.Tensor).array() as number;
      assert(Math.abs(got - want) <= 1e-3 * want, `${name}, step ${i}: ${got}, wanted ${want}`);
    }
    model.dispose();
  }
});

testOnDevices("a model of float16 trains as its twin of float32", async (device) => {
  if (namesOn(device, []).length === 0) return;
  const pack = await Pack.read("models");
  // Both files were made of one model, whose losses are those of torch.
  const { model, loss } = await trained(pack, "bert_fp16"), { rate, losses } = GOLDENS.bert_dynamo;
  const variables = Object.values(model.variables).filter((v) => v.trainable);
  assertEquals(variables.length, Object.keys(GOLDENS.bert_dynamo.grads).length);
  assert(variables.every((v) => v.dtype === "float16"));
  const optimizer = tf.train.sgd(rate);
  const step = tf.function(() => optimizer.minimize(loss, true));
  for (const want of losses.slice(0, 6)) {
    const got = await (step() as tf.Tensor).array() as number;
    assert(Math.abs(got - want) <= 2e-2 * want, `${got}, wanted ${want}`);
  }
  model.dispose();
});

testOnDevices(
  "adapters over weights of 4 bits are trained, and their gradients are finite differences",
  async () => {
    const pack = await Pack.read("models");
    const { model, loss } = await trained(pack, "llama_int4");
    const { variables } = lora(model, { rank: 2, seed: 4, targets: "*q_proj*" });
    const all = Object.values(variables);
    assertEquals(all.length, 4);
    for (const v of all) v.assign(tf.reshape(tf.mul(tf.tensor(direction(v.size)), 0.1), v.shape));
    const value = tf.function(loss);
    const grads = tf.function(() => Object.values(tf.variableGrads(value).grads))() as tf.Tensor[];
    assertEquals(grads.length, all.length);
    for (const [i, v] of all.entries()) {
      const { dot, norm } = await dotOf(grads[i]), before = v.readValue();
      const at = async (by: number): Promise<number> => {
        v.assign(tf.add(before, tf.mul(tf.tensor(direction(v.size), v.shape), by)));
        return await (value() as tf.Tensor).array() as number;
      };
      const slope = (await at(2e-3) - await at(-2e-3)) / 4e-3;
      v.assign(before);
      assert(
        Math.abs(slope - dot) <= 2e-2 * (Math.abs(dot) + norm),
        `${slope}, the gradient says ${dot} of ${norm}`,
      );
    }
    const optimizer = tf.train.adam(0.02), losses: number[] = [];
    const step = tf.function(() => optimizer.minimize(loss, true));
    for (let i = 0; i < 12; i++) losses.push(await (step() as tf.Tensor).array() as number);
    assert(losses[11] < 0.97 * losses[0], `${losses}`);
    model.dispose();
  },
);
