/** The files of shaders/: each is a module of its own. */
import { assertEquals } from "@std/assert";
import { RANDOM_WGSL, SCALAR_WGSL } from "../../../src/shaders_generated.ts";
import { HAS_WEBGPU } from "../../devices.ts";

for (const [name, library] of Object.entries({ scalar: SCALAR_WGSL, random: RANDOM_WGSL })) {
  Deno.test({
    name: `shaders/${name}.wgsl is valid on its own [webgpu]`,
    ignore: !HAS_WEBGPU,
    async fn() {
      const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
      device.pushErrorScope("validation");
      device.createShaderModule({ code: Object.values(library).map((f) => f.text).join("\n") });
      const error = await device.popErrorScope();
      device.destroy();
      assertEquals(error?.message, undefined);
    },
  });
}
