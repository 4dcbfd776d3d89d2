/** Finds a text although another program has encoded it or changed its letters. */

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** Decodes a word as base64 and base32, from each possible offset, because it may be cut. */
export function decodings(word: string): readonly string[] {
  const in64 = word.replaceAll('-', '+').replaceAll('_', '/')
  const runs = [
    ...(in64.match(/[A-Za-z0-9+/]{4,}/g) ?? []).map((run) => bitsOf(run, BASE64)),
    ...(word.toLowerCase().match(/[a-z2-7]{5,}/g) ?? []).map((run) => bitsOf(run, BASE32)),
  ]
  return runs.flatMap((bits) =>
    [0, 1, 2, 3, 4, 5, 6, 7].map((start) => {
      const bytes = bits.slice(start).match(/.{8}/g) ?? []
      return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))).toString('utf8')
    }),
  )
}

function bitsOf(run: string, digits: string): string {
  return run.replace(/./g, (digit) => digits.indexOf(digit).toString(2).padStart(Math.log2(digits.length), '0'))
}

/** Removes accents and case, which other programs may have changed. A sharp s becomes `ss`. */
export function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase()
}
