/**
 * Which of several names a key belongs to: the one with the greatest weight for it (rendezvous hashing). A name's weights do
 * not depend on the others, so where one is added, what moves moves to it, and where one goes, only what it had moves.
 */
const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** FNV-1a, 32 bits: keys are digests already, so it need not hide anything. */
function fnv1a(text: string): number {
  let hash = FNV_OFFSET
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME)
  return hash
}

/** Spreads every bit over all others: the last step of MurmurHash3. */
function mixed(hash: number): number {
  let bits = hash
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}

/** The names' order says nothing. A change of these functions would move messages, so they stay as they are. */
export function ownerAmong(names: readonly string[]): (key: string) => string {
  // Of two equal weights the name decides.
  const seeds = names.toSorted().map((name) => [name, mixed(fnv1a(name))] as const)
  return (key) => {
    const hash = fnv1a(key)
    let owner = ''
    let greatest = -1
    for (const [name, seed] of seeds) {
      const weight = mixed(mixed(hash ^ seed) + seed)
      if (weight <= greatest) continue
      greatest = weight
      owner = name
    }
    return owner
  }
}
