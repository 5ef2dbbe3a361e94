// Rows beside Keras's own programs: a `.keras` archive is loaded, predicts and trains. native.py has each by its id.

import * as core from "@weft/weft/tfjs-core";
import { loadKeras, registerKerasLayers } from "@weft/weft/keras";
import { tfjsPackages } from "../../tools/tfjs_packages.ts";
import { normals, sizeOf } from "../random.ts";
import type { Case, Row } from "../row.ts";

const ARCHIVE = new URL("../../tests/tfjs_core/keras/fixtures/cnn.keras", import.meta.url);
/** Rows of a batch. */
const BATCH = 32;

/** The part of a model that the rows use. */
interface Model {
  readonly inputs: readonly { readonly shape: (number | null)[] }[];
  readonly outputs: Model["inputs"];
  predict(x: core.Tensor): core.Tensor;
  compile(args: object): void;
  trainOnBatch(x: core.Tensor, y: core.Tensor): Promise<unknown>;
  dispose(): unknown;
}

async function loader(): Promise<() => Promise<Model>> {
  await core.setBackend("cpu");
  const { tfl } = await tfjsPackages(), bytes = await Deno.readFile(ARCHIVE);
  registerKerasLayers(tfl);
  return async () => await loadKeras(tfl, bytes) as unknown as Model;
}

function batchOf({ shape }: Model["inputs"][number]): core.Tensor {
  const own = [BATCH, ...shape.slice(1).map(Number)];
  return core.tensor(normals(sizeOf(own), 1), own);
}

const result = (dispose: () => void) => ({ data: () => Promise.resolve([]), dispose });

function row(id: string, what: string, weft: () => Promise<Case>): Row {
  return { id, what, devices: ["cpu"], weft };
}

/** Rows of this file. */
export const ARCHIVE_ROWS: readonly Row[] = [
  row("keras_load", "a .keras archive of a small CNN is loaded", async () => {
    const load = await loader();
    return {
      async call() {
        const model = await load();
        return result(() => void model.dispose());
      },
    };
  }),
  row("keras_predict", `it predicts ${BATCH} images`, async () => {
    const model = await (await loader())(), x = batchOf(model.inputs[0]!);
    return {
      async call() {
        const y = model.predict(x);
        await y.data();
        return result(() => y.dispose());
      },
    };
  }),
  row("keras_train", `it trains by ${BATCH} images`, async () => {
    const model = await (await loader())();
    const x = batchOf(model.inputs[0]!), y = batchOf(model.outputs[0]!);
    model.compile({ optimizer: core.train.sgd(1e-4), loss: "meanSquaredError" });
    return {
      async call() {
        await model.trainOnBatch(x, y);
        return result(() => {});
      },
    };
  }),
];
