/** The command that serves folders, as a process of its own, over a real socket. */
import * as tf from "@weft/weft";
import { saveModel } from "@weft/weft/tf";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { capture } from "../../tools/command.ts";
import { readModuleGraph } from "../../tools/module_graph.ts";

const ROOT = new URL("../../", import.meta.url);
const MAP = new URL("tests/npm_only/import_map.json", ROOT).pathname;
const at = (area: string): string => new URL(`src/${area}/mod.ts`, ROOT).pathname;

function serve(...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--import-map", MAP, at("serve"), ...args],
    stdout: "piped",
    stderr: "piped",
    env: { WEFT_TEST_TOKEN: "secret" },
  }).spawn();
}

/** A folder with two versions of a SavedModel that adds its number. */
async function savedVersions(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "weft_serve_" });
  for (const n of [2, 10]) {
    const add = tf.variable(tf.scalar(n));
    const f = tf.function((x: tf.Tensor) => ({ y: tf.add(x, add) }), {
      inputSignature: [tf.TensorSpec([null], "float32", "x")],
    });
    await saveModel(`${folder}/adder/${n}`, { signatures: { serving_default: f } });
    add.dispose();
  }
  return folder;
}

Deno.test("the command serves the highest version of a SavedModel until it is told to end", async () => {
  const folder = await savedVersions();
  const flags = ["--token-env=WEFT_TEST_TOKEN", "--batch=8", "--origins=https://page.example"];
  const child = serve(`${folder}/adder/`, "--port=0", ...flags);
  try {
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const said = await firstLine(child, lines);
    const url = /^Serving adder at (http:\/\/127\.0\.0\.1:\d+)$/m.exec(said)?.[1];
    assert(url !== undefined, said);
    const refused = await fetch(`${url}/v1/models/adder`);
    assertEquals((await refused.json()).error, "Cannot answer without the right token");
    const answer = await fetch(`${url}/v1/models/adder:predict`, {
      method: "POST",
      headers: { authorization: "Bearer secret", origin: "https://page.example" },
      body: `{"instances": [1, 2]}`,
    });
    assertEquals(answer.headers.get("access-control-allow-origin"), "https://page.example");
    assertEquals(await answer.json(), { predictions: [11, 12] });
    child.kill("SIGTERM");
    await lines.cancel();
    assertEquals((await child.status).code, 0);
    await child.stderr.cancel();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Returns the command's first line. */
async function firstLine(
  child: Deno.ChildProcess,
  lines: ReadableStreamDefaultReader<string>,
): Promise<string> {
  let said = "";
  while (!said.includes("\n")) {
    const { value, done } = await lines.read();
    if (done) throw new Error(new TextDecoder().decode((await child.output()).stderr));
    said += value;
  }
  return said;
}

Deno.test("the command answers by HTTPS with a certificate, to those who trust it", async () => {
  const folder = await savedVersions(),
    tls = new URL("../distribute/fixtures/tls/", import.meta.url);
  const pem = (name: string): string => new URL(name, tls).pathname;
  const children: Deno.ChildProcess[] = [];
  const start = async (cert: string): Promise<string> => {
    const child = serve(
      ...[`${folder}/adder/`, "--port=0", "--token-env=WEFT_TEST_TOKEN"],
      ...[`--cert=${pem(cert)}`, `--key=${pem("server.key")}`],
    );
    children.push(child);
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const said = await firstLine(child, lines);
    await lines.cancel();
    return /https:\S+/.exec(said)?.[0] ?? said;
  };
  using trusting = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(pem("ca.pem"))] });
  using other = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(pem("other_ca.pem"))] });
  try {
    const url = await start("server.pem");
    const predict = (client: Deno.HttpClient, token: string): Promise<Response> =>
      fetch(`${url}/v1/models/adder:predict`, {
        ...{ client, method: "POST", body: `{"instances": [1]}` },
        headers: { authorization: `Bearer ${token}` },
      });
    assertEquals(await (await predict(trusting, "secret")).json(), { predictions: [11] });
    assertEquals((await (await predict(trusting, "wrong")).json()).error !== undefined, true);
    await assertRejects(() => predict(other, "secret"), TypeError);
    await assertRejects(() => fetch(url.replace("https", "http")), TypeError);
    const lateUrl = await start("expired.pem");
    await assertRejects(() => fetch(`${lateUrl}/v2/health/live`, { client: trusting }), TypeError);
  } finally {
    for (const child of children) {
      child.kill("SIGTERM");
      await child.status;
      await child.stderr.cancel();
    }
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("commands have help, and one line for a mistake", async (t) => {
  const commands: Readonly<Record<string, readonly string[][]>> = {
    serve: [["--help"], ["--nonsense"]],
    tensorflow: [["inspect", "--help"], ["inspect", "/no/such/file.pb"]],
    onnx: [["-h"], ["nonsense"]],
  };
  for (const [area, all] of Object.entries(commands)) {
    for (const args of all) {
      await t.step(`${area} ${args.join(" ")}`, async () => {
        const { code, stdout, stderr } = await capture(
          Deno.execPath(),
          ["run", "-A", "-q", "--no-check", "--no-lock", "--import-map", MAP, at(area), ...args],
          { timeoutMs: 600_000 },
        );
        const isHelp = args.some((arg) => /^-h|^--help/.test(arg));
        assertEquals(code, isHelp ? 0 : 2, stderr);
        const [told, other] = isHelp ? [stdout, stderr] : [stderr, stdout];
        assertEquals([told.trim().split("\n").length, other.trim()], [1, ""], told);
        if (isHelp) assert(told.startsWith("usage: "), told);
      });
    }
  }
});

Deno.test("the command says which permission it lacks, in one line", async () => {
  const { code, stderr } = await capture(
    Deno.execPath(),
    [
      ...[
        "run",
        "-q",
        "--no-prompt",
        "--no-check",
        "--no-lock",
        "--allow-read",
        "--import-map",
        MAP,
      ],
      ...[at("serve"), "/no/such/folder", "--port=0"],
    ],
    { timeoutMs: 600_000 },
  );
  assertEquals([code, stderr.trim()], [2, "Cannot listen on 127.0.0.1:0: run it with --allow-net"]);
});

Deno.test("the command tells what it cannot serve", async (t) => {
  const empty = await Deno.makeTempDir(), file = `${empty}/some.txt`, saved = `${empty}/1`;
  await Deno.writeTextFile(file, "some text");
  const onnx = `${empty}/some.onnx`;
  await Deno.writeTextFile(onnx, "");
  const f = tf.function((x: tf.Tensor) => ({ y: tf.neg(x) }), {
    inputSignature: [tf.TensorSpec([null], "float32", "x")],
  });
  await saveModel(saved, { signatures: { serving_default: f } });
  for (
    const [args, message] of [
      [[], "usage: serve"],
      [["/no/such/folder"], "Cannot serve /no/such/folder: there is no such folder"],
      [
        [`${empty}/1/variables`],
        "it has no saved_model.pb, no model.json and no numbered folder with one",
      ],
      [[empty, "--port=x"], 'Cannot use --port "x": wanted a number'],
      [[empty, "--port=1.5"], 'Cannot use --port "1.5": wanted a whole number below 65536'],
      [[empty, "--port=65536"], 'Cannot use --port "65536": wanted a whole number below 65536'],
      [[file], `Cannot serve ${file}: it is no folder`],
      [[onnx], `onnx convert ${onnx} FOLDER`],
      [[saved, `${saved}/`], 'Cannot serve two models as "1"'],
      [[empty, "--cert=/no.pem", "--key=/no.pem"], "Cannot read /no.pem: there is no such file"],
      [[empty, `--cert=${file}`, `--key=${file}`], `${file} holds no CERTIFICATE in PEM form`],
      [[empty, "--origins="], 'Cannot serve pages of "": wanted an origin'],
      [[empty, "--cert=a.pem"], "--cert and --key are wanted together"],
      [[empty, "--connections=x"], 'Cannot use --connections "x": wanted a number'],
      [[empty, "--connections=0"], "Cannot use --connections 0: wanted 1 or more"],
      [[empty, "--device=tpu"], 'Cannot use --device "tpu"'],
      [[empty, "--token-env=NOT_SET_ANYWHERE"], "the environment has no NOT_SET_ANYWHERE"],
    ] as const
  ) {
    await t.step(args.join(" ") || "nothing", async () => {
      const { code, stderr } = await serve(...args).output();
      const text = new TextDecoder().decode(stderr);
      assertEquals(code, 2, text);
      assert(text.includes(message), text);
    });
  }
  await Deno.remove(empty, { recursive: true });
});

Deno.test("the thread that listens loads no models and no ops: what it holds is what its collections take time for", async () => {
  const main = "src/serve/main.ts", { imports } = await readModuleGraph([main]);
  const loaded = new Set([main]), later = new Set<string>();
  for (const file of loaded) {
    for (const { target, dynamic, typeOnly } of imports.get(file) ?? []) {
      if (!typeOnly) (dynamic ? later : loaded).add(target);
    }
  }
  assert(later.has("src/serve/model_folders.ts"));
  const heavy = /^mod\.ts|^src\/(tensorflow|library\/train|engine\/(kernels|devices))\//;
  assertEquals([...loaded].filter((file) => heavy.test(file)), []);
});
