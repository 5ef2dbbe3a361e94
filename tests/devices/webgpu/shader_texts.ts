/** All WGSL that compilers must take: the files of shaders/ as they are, and kernels at the parameters that stand in them. */
import { makeProgram } from "../../../src/engine/core/dispatch.ts";
import type { Shader } from "../../../src/shaders_generated.ts";
import * as common from "../../../src/shaders_generated.ts";
import * as windows from "../../../src/engine/kernels/window_shaders_generated.ts";
import { list, read } from "../../../tools/files.ts";
import { isKernel } from "../../../tools/shaders/lines.ts";
import { compileShader } from "../../../tools/shaders/template.ts";

/** WGSL under a name for messages. */
export interface ShaderText {
  /** Its file, and what was made of it. */
  readonly name: string;
  /** The text. */
  readonly code: string;
}

/** Each file by itself, and each kernel as it reaches the GPU at its default parameters. */
export function shaderTexts(): ShaderText[] {
  return list("shaders", ".wgsl").flatMap((path) => {
    const source = read(path);
    const alone = { name: path, code: source };
    return isKernel(source)
      ? [alone, { name: `${path} at its parameters`, code: atDefaults(path) }]
      : [alone];
  });
}

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
  const shaders = { ...common, ...windows } as unknown as Record<string, Shader<object>>;
  const shader = shaders[name.toUpperCase()];
  return makeProgram({ name: shader.name, ...shader.of(given)[1]() }).source;
}
