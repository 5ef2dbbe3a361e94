/**
 * Programs made of the kernels in shaders/: a shader, its parameters, and what the caller adds to its bindings.
 */
import { makeProgram, type Program, Programs } from "./dispatch.ts";
import type { Shader } from "../shaders_generated.ts";

/** What a program has besides its shader's text. */
export interface ShaderAdditions {
  /** Name for messages and profiles. Default: the shader's. */
  readonly name?: string;
  /** WGSL element types of further inputs, bound behind the shader's: operands of an epilogue. */
  readonly inputs?: readonly string[];
  /** WGSL element types of further outputs, bound behind the shader's. */
  readonly outputs?: readonly string[];
  /** Further uniform fields, behind the shader's. */
  readonly params?: readonly string[];
  /** WGSL directives. */
  readonly enable?: readonly string[];
}

const programs = new Programs();

/** The program of a shader with these parameters, made once. */
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
