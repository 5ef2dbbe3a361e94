/**
 * What the lanes of a workgroup may do together in kernels with register tiles.
 */
import type { RegisterTile } from "./tiles.ts";

/** What a workgroup's lanes may do. */
export interface LaneProfile {
  /** Invocations of a workgroup: one subgroup where lanes share. */
  readonly lanes: number;
  /** WGSL must say `enable subgroups;`. */
  readonly subgroupDirective: boolean;
}

/** WGSL directives of a kernel with this tile. */
export function laneDirectives({ across }: RegisterTile, profile: LaneProfile): string[] {
  return across !== undefined && profile.subgroupDirective ? ["enable subgroups;"] : [];
}
