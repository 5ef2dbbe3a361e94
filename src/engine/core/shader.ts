/** Programs from the kernels in shaders/: a shader, its parameters, and the caller's additional bindings. */
import { makeProgram, type Program, type ProgramInit, Programs } from "./dispatch.ts";
import type { Shader } from "../../shaders_generated.ts";

/** Additions to a shader's own: operands of an epilogue and the like. Its name is the shader's by default. */
type ShaderAdditions = Partial<
  Pick<ProgramInit, "name" | "inputs" | "outputs" | "params" | "enable">
>;

const programs = new Programs();

/** Makes the program of a shader with these parameters, once. */
export function shaderProgram<P>(
  shader: Shader<P>,
  parameters: P,
  additions: ShaderAdditions = {},
): Program {
  const { name = shader.name, inputs = [], outputs = [], params = [], enable = [] } = additions;
  const [own, make] = shader.of(parameters);
  const key = [shader.name, name, inputs, outputs, params, enable, ...own].join("|");
  let program = programs.get(key);
  if (program === undefined) {
    const text = make();
    program = makeProgram({
      ...text,
      name,
      inputs: [...text.inputs, ...inputs],
      outputs: [...text.outputs, ...outputs],
      params: [...text.params, ...params],
      enable,
    });
    programs.set(key, program);
  }
  return program;
}
