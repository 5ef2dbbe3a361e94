/**
 * `deno task areas`: renders into ARCHITECTURE.md the areas of `src/`, their rooms, and the import law that `tests/architecture_test.ts` checks.
 *
 * @module
 */

import { run } from "../command.ts";
import { answerHelp } from "../dev/help.ts";
import { enterRoot, read } from "../files.ts";

/** A folder of an area, or the files at the top of one. */
export interface Room {
  /** The contents, for the table of ARCHITECTURE.md. */
  readonly holds: string;
  /** The rooms it may import beside itself; a name stands for all rooms below it too. */
  readonly imports: readonly string[];
}

/** An area: one subject, with rooms listed lowest first. The room `.` is the area's own top. */
export interface Area {
  readonly purpose: string;
  readonly rooms: Readonly<Record<string, Room>>;
}

/** Rooms of the engine that all rooms of `runtime/` may import. */
const BELOW_RUNTIME: readonly string[] = "core kernels ops graph devices autodiff".split(" ")
  .map((room) => `engine/${room}`);

/** The areas, lowest first. */
export const AREAS: Readonly<Record<string, Area>> = {
  engine: {
    purpose: "arrays, ops, graphs, devices, gradients, execution and script ops",
    rooms: {
      core: {
        holds:
          "dtypes, shapes, host arrays, `Tensor`, `defineOp`, `apply`, scalar expressions and their printers, GPU work as data",
        imports: ["shaders_generated"],
      },
      kernels: {
        holds:
          "`host/`: loops on host arrays; the other folders: WGSL as data, a family each, with the layouts both devices share",
        imports: ["engine/core", "shaders_generated"],
      },
      ops: {
        holds: "op definitions and the functions users call, a folder for each kind of op",
        imports: ["engine/core", "engine/kernels"],
      },
      graph: {
        holds:
          "`Graph`, `Operation`, function bodies; the plan's view of a graph (`ir.ts`) and `passes/` over it",
        imports: ["engine/core"],
      },
      devices: {
        holds:
          "`cpu/`: WebAssembly memory, emitter and kernels; `webgpu/`: stream, buffer pool, pipelines, readback",
        imports: ["engine/core", "engine/kernels", "shaders_generated"],
      },
      autodiff: {
        holds: "backprop over steps; tape, `gradients`, `grad`",
        imports: ["engine/core", "engine/ops"],
      },
      "runtime/devices": {
        holds: "the devices of a process and the default one",
        imports: [...BELOW_RUNTIME],
      },
      "runtime/eager": {
        holds: "ops at once: launches, tensors over reference-counted storage, scopes",
        imports: [...BELOW_RUNTIME, "engine/runtime/devices"],
      },
      "runtime/run": {
        holds: "a run: its context, values, errors, requests and counts",
        imports: [...BELOW_RUNTIME, "engine/runtime/devices", "engine/runtime/eager"],
      },
      "runtime/variables": {
        holds: "variables and their states",
        imports: [
          ...BELOW_RUNTIME,
          "engine/runtime/devices",
          "engine/runtime/eager",
          "engine/runtime/run",
        ],
      },
      "runtime/plan": {
        holds: "placement, plans, segments, execution",
        imports: [
          ...BELOW_RUNTIME,
          "engine/runtime/devices",
          "engine/runtime/eager",
          "engine/runtime/run",
          "engine/runtime/variables",
        ],
      },
      "runtime/functions": {
        holds: "`tf.function`, calls of bodies, their tapes",
        imports: [
          ...BELOW_RUNTIME,
          "engine/runtime/devices",
          "engine/runtime/eager",
          "engine/runtime/run",
          "engine/runtime/variables",
          "engine/runtime/plan",
        ],
      },
      "runtime/control": {
        holds: "branches and loops",
        imports: [
          ...BELOW_RUNTIME,
          "engine/runtime/devices",
          "engine/runtime/eager",
          "engine/runtime/run",
          "engine/runtime/variables",
          "engine/runtime/plan",
          "engine/runtime/functions",
        ],
      },
      "runtime/session": {
        holds: "sessions, feeds, targets",
        imports: [
          ...BELOW_RUNTIME,
          "engine/runtime/devices",
          "engine/runtime/eager",
          "engine/runtime/run",
          "engine/runtime/variables",
          "engine/runtime/plan",
          "engine/runtime/functions",
          "engine/runtime/control",
        ],
      },
      runtime: {
        holds: "`*.ts`: connects the parts when the library is loaded",
        imports: [...BELOW_RUNTIME, "engine/runtime"],
      },
      script: {
        holds: "the script ops",
        imports: [
          ..."core ops graph autodiff runtime".split(" ").map((room) => `engine/${room}`),
        ],
      },
      batching: {
        holds: "`vmap`: bodies of one row run for all rows by rules on their ops",
        imports: [
          ..."core ops graph runtime script".split(" ").map((room) => `engine/${room}`),
        ],
      },
      ".": { holds: "the types that signatures of several entries name", imports: ["engine"] },
    },
  },
  library: {
    purpose: "training, data, files, looking in, testing: satellites of the engine",
    rooms: {
      io: { holds: "files; checkpoints", imports: ["engine"] },
      train: { holds: "optimizers", imports: ["engine", "library/io"] },
      metrics: {
        holds: "metrics that accumulate on the device",
        imports: ["engine", "library/train"],
      },
      data: {
        holds: "datasets: stages that pull from each other and can say where they stand",
        imports: ["engine", "library/io"],
      },
      display: {
        holds:
          "the text of `console.log`, `JSON.stringify` and notebooks; graphs as text and pictures",
        imports: ["engine", "library/data", "library/io"],
      },
      debugging: {
        holds: "`print`, `tap`, `tf.debugging`: looking in from compiled code",
        imports: ["engine"],
      },
      testing: {
        holds: "the entry `./testing`: `opCheck` and `gradCheck`, for users' own ops",
        imports: ["engine", "tensorflow/graph"],
      },
    },
  },
  tensorflow: {
    purpose: "TensorFlow's graphs and files in and out, and its API of version 1",
    rooms: {
      ops: { holds: "ops that only imported graphs use", imports: ["engine"] },
      graph_def: {
        holds: "GraphDefs: graphs written and read, frozen, and in ops that TensorFlow has",
        imports: ["engine"],
      },
      graph: {
        holds: "import of GraphDefs: rules by TensorFlow's op names, control flow, resources",
        imports: ["engine", "tensorflow/ops", "tensorflow/graph_def"],
      },
      proto: { holds: "generated messages (`deno task protos`)", imports: [] },
      compat_v1: {
        holds: "`tf.compat.v1`: variable scopes, collections, sessions, optimizers and savers",
        imports: ["engine", "library", "tensorflow/graph_def", "mod"],
      },
      files: {
        holds: "GraphDef, SavedModel, checkpoint and event files (`@bufbuild/protobuf`)",
        imports: ["engine", "library", "tensorflow", "tfjs/graph_model", "mod"],
      },
      ".": {
        holds: "the entry `./tf` and its command",
        imports: ["engine", "library/io", "tensorflow/files", "tensorflow/graph", "mod"],
      },
    },
  },
  tfjs: {
    purpose: "TensorFlow.js: its API over ours, its models, exchange of tensors with it",
    rooms: {
      graph_model: {
        holds: "`tf.loadGraphModel`: TensorFlow.js's models, loaded when first asked for",
        imports: ["engine", "library/io", "tensorflow/graph", "tensorflow/graph_def"],
      },
      layers: {
        holds:
          "the compiled training steps of `tfjs-layers`, and configurations of Keras 3 as it reads them",
        imports: ["engine", "library/train", "tfjs/core"],
      },
      core: {
        holds:
          "the entry `./tfjs-core`: TensorFlow.js's core over ours; `kernels/` lists its kernels as functions of ours",
        imports: ["engine", "library", "tfjs/graph_model", "tfjs/layers", "mod"],
      },
      keras: {
        holds: "the entry `./keras`: Keras' files (HDF5) as models of `tfjs-layers`",
        imports: ["engine", "library/io", "tfjs/core", "tfjs/layers", "mod"],
      },
      exchange: {
        holds: "the entry `./tfjs`: exchange of tensors with TensorFlow.js",
        imports: ["engine", "tfjs/core"],
      },
    },
  },
  cluster: {
    purpose: "several machines: TensorFlow's data service and its clusters",
    rooms: {
      wire: {
        holds: "HTTP/2, gRPC, messages, elements, and the network within one process",
        imports: [
          "engine",
          "library/io",
          "tensorflow/files",
          "tensorflow/graph_def",
          "tensorflow/proto",
        ],
      },
      data_service: {
        holds: "dispatcher, workers, consumers",
        imports: [
          "engine",
          "library/data",
          "library/io",
          "tensorflow",
          "cluster/wire",
          "cluster/.",
        ],
      },
      server: {
        holds: "tasks of TensorFlow's clusters",
        imports: ["engine", "tensorflow", "cluster/wire", "cluster/."],
      },
      session: {
        holds: "sessions with a target, and training by several of them",
        imports: ["engine", "tensorflow", "cluster/wire"],
      },
      ".": {
        holds: "the entry `./distribute`",
        imports: [
          "engine",
          "library/data",
          "tensorflow/graph",
          "tensorflow/graph_def",
          "cluster",
          "mod",
        ],
      },
    },
  },
  onnx: {
    purpose: "ONNX's models as graphs of ours",
    rooms: {
      proto: { holds: "generated messages (`deno task protos`)", imports: [] },
      file: {
        holds: "ONNX's files: graphs, constants, external data (`@bufbuild/protobuf`)",
        imports: ["engine", "library/io", "onnx/proto"],
      },
      build: {
        holds: "values and nodes as rules of ops see them, and the walk over a graph's nodes",
        imports: ["engine", "onnx/file"],
      },
      ops: {
        holds: "the table of ops: a rule by ONNX's op name and version, a file for each family",
        imports: ["engine", "library/io", "tensorflow/ops", "onnx/file", "onnx/build"],
      },
      edit: {
        holds: "what is changed of a loaded model: its outputs, replaced tensors, adapters",
        imports: ["engine", "onnx/file", "onnx/build", "onnx/proto"],
      },
      write: {
        holds:
          "functions written as ONNX; `ops/`: a rule by Weft's op name, a file for each family",
        imports: ["engine", "tensorflow/graph_def", "onnx/proto", "onnx/file", "mod"],
      },
      ".": {
        holds: "the entry `./onnx`",
        imports: ["engine", "library/io", "tensorflow", "onnx", "mod"],
      },
    },
  },
  ort: {
    purpose: "onnxruntime's JavaScript API over ours",
    rooms: {
      ".": {
        holds: "the entry `./ort`: sessions, tensors, environment",
        imports: ["engine", "library/io", "onnx"],
      },
    },
  },
  serve: {
    purpose: "models behind HTTP",
    rooms: {
      ".": {
        holds: "the entry `./serve`",
        imports: ["engine", "library/io", "tensorflow/files", "mod"],
      },
    },
  },
  entries: {
    purpose: "the other entries of the package",
    rooms: {
      eager: {
        holds: "`./eager`: eager code alone, for pages that count bytes",
        imports: ["engine", "library/train"],
      },
      image: { holds: "`./image`: JPEG outside of browsers", imports: ["engine", "library/io"] },
      numpy: { holds: "`./numpy`: script ops over numpy-ts", imports: ["engine"] },
      ops: { holds: "`./ops`: ops of one's own", imports: ["engine"] },
    },
  },
};

/** The file that lists what `mod.ts` loads, and the generated shaders. */
const GENERATED = /^src\/(modules_generated|shaders_generated)\.ts$/;

/** The room of a file, as `engine/core` or `serve/.`; `mod` for `mod.ts`, null for what the law does not know. */
export function roomOf(file: string): string | null {
  if (file === "mod.ts") return "mod";
  const generated = GENERATED.exec(file);
  if (generated) return generated[1];
  const [, area, path] = /^src\/(\w+)\/(.*)/.exec(file) ?? [];
  if (area === undefined || !Object.hasOwn(AREAS, area)) return null;
  const within = Object.keys(AREAS[area].rooms).filter((room) =>
    room === "." ? !path.includes("/") : path.startsWith(`${room}/`)
  );
  const room = within.sort((a, b) => b.length - a.length).at(0);
  return room === undefined ? null : `${area}/${room}`;
}

/** True where a room may import another. */
export function mayImport(room: string, other: string): boolean {
  if (room === other) return true;
  if (room === "modules_generated" || room === "mod") return other !== "mod";
  if (room === "shaders_generated") return false;
  const area = room.slice(0, room.indexOf("/"));
  const { imports } = AREAS[area].rooms[room.slice(area.length + 1)];
  return imports.some((name) => other === name || other.startsWith(`${name}/`));
}

/** The table of ARCHITECTURE.md. */
export function areaTable(): string {
  const rows = Object.entries(AREAS).flatMap(([area, { purpose, rooms }]) => [
    `| **\`${area}/\`** | ${purpose} | |`,
    ...Object.entries(rooms).map(([folder, { holds, imports }]) =>
      `| ${folder === "." ? `\`${area}/*.ts\`` : `\`${area}/${folder}/\``} | ${holds} | ${
        imports.map((name) => name.replace(/\/\.$/, "/*.ts")).join(", ") || "nothing"
      } |`
    ),
  ]);
  return ["| folder | holds | may import |", "| --- | --- | --- |", ...rows].join("\n");
}

/** The marks between which the table stands. */
const BEGIN = "<!-- The table is written by `deno task areas` from tools/structure/areas.ts -->",
  END = "<!-- -->";

/** A document with today's table between its marks. */
export function withTable(text: string): string {
  const from = text.indexOf(BEGIN), to = text.indexOf(END, from);
  if (from < 0 || to < 0) throw new Error("Cannot find the marks of the table of areas");
  return `${text.slice(0, from + BEGIN.length)}\n\n${areaTable()}\n\n${text.slice(to)}`;
}

if (import.meta.main) {
  answerHelp(import.meta.url);
  enterRoot();
  await Deno.writeTextFile("ARCHITECTURE.md", withTable(read("ARCHITECTURE.md")));
  await run(Deno.execPath(), ["fmt", "-q", "ARCHITECTURE.md"]);
}
