import type { AbilityText } from '../../protocol/matching';
import { addCentred, lengthOf, rawSum, type VectorRows } from './vector-space';

/**
 * Which texts belong to which ability, as numbers in typed arrays: whatever the number of examples, an ability costs
 * a few dozen bytes here.
 */
export class Profiles {
  /** Rows of all abilities' texts, one ability after the other, description first. */
  private readonly members: Int32Array;
  /** Where an ability's texts begin; one more entry than abilities. */
  private readonly starts: Int32Array;
  /** Length of the sum of an ability's raw vectors. */
  readonly rawLengths: Float32Array;

  constructor(
    private readonly rows: VectorRows,
    readonly abilities: readonly AbilityText[],
    rowOf: (text: string) => number,
  ) {
    this.starts = new Int32Array(abilities.length + 1);
    abilities.forEach(({ texts }, place) => (this.starts[place + 1] = this.starts[place]! + texts.length));
    this.members = new Int32Array(this.starts[abilities.length]!);
    abilities.forEach(({ texts }, place) => texts.forEach((text, i) => this.setMember(place, i, rowOf(text))));
    this.rawLengths = Float32Array.from(abilities, (_, place) => lengthOf(rawSum(rows, this.membersOf(place))));
  }

  get textCount(): number {
    return this.members.length;
  }

  /** Rows of one ability's texts, the description's first. A view, not a copy. */
  membersOf(place: number): Int32Array {
    return this.members.subarray(this.starts[place], this.starts[place + 1]);
  }

  /** Mean of each ability's texts, centred by language; the description counts as one of them. */
  means(): Float32Array {
    const { dimensions } = this.rows;
    const means = new Float32Array(this.abilities.length * dimensions);
    this.abilities.forEach((_, place) => {
      const members = this.membersOf(place);
      const into = { sum: means, offset: place * dimensions, factor: 1 / members.length };
      for (const row of members) addCentred(this.rows, row, into);
    });
    return means;
  }

  /** Differences between texts and the mean of their ability: those of every so-manieth text, `atMost` in all. */
  residuals(means: Float32Array, atMost: number): Float32Array {
    const { dimensions } = this.rows;
    const stride = Math.max(1, Math.ceil(this.textCount / atMost));
    const residuals = new Float32Array(Math.ceil(this.textCount / stride) * dimensions);
    this.abilities.forEach((_, place) => {
      const start = this.starts[place]!;
      for (let at = Math.ceil(start / stride) * stride; at < this.starts[place + 1]!; at += stride) {
        const offset = (at / stride) * dimensions;
        addCentred(this.rows, this.members[at]!, { sum: residuals, offset, factor: 1 });
        for (let i = 0; i < dimensions; i++) residuals[offset + i]! -= means[place * dimensions + i]!;
      }
    });
    return residuals;
  }

  private setMember(place: number, text: number, row: number): void {
    this.members[this.starts[place]! + text] = row;
  }
}
