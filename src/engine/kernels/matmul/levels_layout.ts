/** Layout of levels: rows of words of 32 bits, whose lowest bits are the first level. */
export interface LevelsLayout {
  /** Bits of a level: 2, 4 or 8. */
  readonly bits: number;
  /** Levels of a block, which has a scale. */
  readonly block: number;
}
