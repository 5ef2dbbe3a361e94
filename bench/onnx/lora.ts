// Times a step of LoRA beside the forward pass, for a BERT of six layers that a file of ONNX holds, its weights float32 or of 4 bits.
//
//   deno task bench onnx lora [cpu|webgpu] [--page] [--rounds N] [--hidden N] [--rank N]
//
// One process; forward pass and step take turns, and the ratio is the median of the rounds' ratios. --page measures in Chromium.

import { parseArgs } from "node:util";
import { findChromium, runPage } from "../../tools/browser.ts";
import { capture } from "../../tools/command.ts";
import { chooseImports } from "../../tools/jsr.ts";
import { type LoraOptions, timeLora } from "./lora_step.ts";

type Backend = "cpu" | "webgpu";

/** Measures in a page: the module that does so, bundled. */
async function inPage(device: Backend, options: LoraOptions): Promise<string[]> {
  const chromium = await findChromium();
  if (chromium === null) throw new Error("Cannot find Chromium");
  const out = await Deno.makeTempFile({ suffix: ".js" }), entry = "bench/onnx/lora_step.ts";
  const flags = ["--quiet", "--no-lock", "--platform", "browser", "--output", out];
  const imports = (await chooseImports()).args;
  const { code, stderr } = await capture(Deno.execPath(), ["bundle", ...imports, ...flags, entry]);
  if (code !== 0) throw new Error(`Cannot bundle "${entry}": ${stderr}`);
  const script = `
    import { timeLora } from "/lora.js";
    const send = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
    await send(await timeLora(${JSON.stringify(device)}, ${JSON.stringify(options)})
      .catch((e) => [String(e.stack)]));
    await send(null);`;
  const js = (body: string) => ({ type: "text/javascript", body });
  const html =
    '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/main.js"></script>';
  const files = new Map([
    ["/", { type: "text/html; charset=utf-8", body: html }],
    ["/main.js", js(script)],
    ["/lora.js", js(await Deno.readTextFile(out))],
  ]);
  await Deno.remove(out);
  let lines: string[] = [];
  await runPage(chromium, { files, isolated: true }, (told) => lines = told as string[]);
  return lines.map((line) => `Chromium, ${line}`);
}

/** Runs the command. */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      page: { type: "boolean", default: false },
      rounds: { type: "string", default: "10" },
      hidden: { type: "string", default: "384" },
      rank: { type: "string", default: "8" },
    },
  });
  const options = {
    rounds: Number(values.rounds),
    hidden: Number(values.hidden),
    rank: Number(values.rank),
  };
  const time = values.page ? inPage : timeLora;
  for (const device of positionals.length > 0 ? positionals : ["cpu"]) {
    for (const line of await time(device as Backend, options)) console.log(line);
  }
  return 0;
}
