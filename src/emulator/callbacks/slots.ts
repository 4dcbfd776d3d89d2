/** So many at once; the others wait in the order in which they came. */
export function createSlots(most: number): { enter(): Promise<() => void> } {
  const waiting: (() => void)[] = []
  let taken = 0

  function leave(): void {
    const next = waiting.shift()
    if (next === undefined) taken -= 1
    else next()
  }

  return {
    async enter() {
      if (taken < most) taken += 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return leave
    },
  }
}
