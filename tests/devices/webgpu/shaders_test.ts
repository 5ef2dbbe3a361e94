/** The files of shaders/: each is WGSL by itself, and so is what is made of it at the parameters that stand in it. */
import { assertEquals } from "@std/assert";
import { makeProgram } from "../../../src/core/dispatch.ts";
import type { Shader } from "../../../src/shaders_generated.ts";
import * as generated from "../../../src/shaders_generated.ts";
import { list, read } from "../../../tools/files.ts";
import { isKernel } from "../../../tools/shaders/lines.ts";
import { compileShader } from "../../../tools/shaders/template.ts";
import { HAS_WEBGPU } from "../../devices.ts";

const FILES = list("shaders", ".wgsl");

/** A kernel's text at the parameters in its file. */
function atDefaults(path: string): string {
  const { parameters } = compileShader(path, read(path), (file) => read(`shaders/${file}`));
  const given = Object.fromEntries(
    parameters.filter(({ type }) => type !== "slot").map(({ name, type, value }) => [
      name,
      type === "number"
        ? parseInt(value)
        : type === "boolean"
        ? value === "true"
        : type === "readonly number[]"
        ? value.match(/\d+/g)!.map(Number)
        : value,
    ]),
  );
  const name = path.slice("shaders/".length, -".wgsl".length).replaceAll("/", "_");
  const shaders = generated as unknown as Record<string, Shader<object>>;
  const shader = shaders[name.toUpperCase()];
  return makeProgram({ name: shader.name, ...shader.of(given)[1]() }).source;
}

/** What the compiler says of WGSL; undefined where it is right. */
async function compileError(device: GPUDevice, code: string): Promise<string | undefined> {
  device.pushErrorScope("validation");
  device.createShaderModule({ code });
  return (await device.popErrorScope())?.message;
}

Deno.test({
  name: "every file of shaders/ is valid by itself, and at the parameters in it [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
    const wrong: string[] = [];
    for (const path of FILES) {
      const source = read(path);
      for (const code of [source, ...(isKernel(source) ? [atDefaults(path)] : [])]) {
        const message = await compileError(device, code);
        if (message !== undefined) {
          wrong.push(`${path}: ${message}\n${code === source ? "" : code}`);
        }
      }
    }
    device.destroy();
    assertEquals(wrong, []);
  },
});
