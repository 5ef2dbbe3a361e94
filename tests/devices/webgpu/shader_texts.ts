/** All WGSL that compilers must take: the files of shaders/ as they are, and kernels at the parameters that stand in them. */
import * as common from "../../../src/shaders_generated.ts";
import * as windows from "../../../src/engine/kernels/window_shaders_generated.ts";
import { list, read } from "../../../tools/files.ts";
import { atDefaults, EXPANDED, type Shaders } from "../../../tools/shaders/expansion.ts";
import { isKernel } from "../../../tools/shaders/lines.ts";

/** WGSL under a name for messages. */
export interface ShaderText {
  /** Its file, and what was made of it. */
  readonly name: string;
  /** The text. */
  readonly code: string;
}

const SHADERS = { ...common, ...windows } as unknown as Shaders;

/** Each file by itself, and each kernel as it reaches the GPU at its default parameters. */
export function shaderTexts(): ShaderText[] {
  const files = list("shaders", ".wgsl").filter((path) => !path.endsWith(EXPANDED));
  return files.flatMap((path) => {
    const source = read(path);
    const alone = { name: path, code: source };
    return isKernel(source)
      ? [alone, {
        name: `${path} at its parameters`,
        code: atDefaults(path, source, (file) => read(`shaders/${file}`), SHADERS),
      }]
      : [alone];
  });
}
