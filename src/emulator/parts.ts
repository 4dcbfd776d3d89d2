/** Number of message parts of a text, by GSM 03.38 and 03.40. Reports per part are our choice, see not-shown.ts. */

const GSM =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
/** Each takes two units. */
const GSM_EXTENSION = '\f^{}\\[~]|€'

const ONE = new Set(GSM)
const TWO = new Set(GSM_EXTENSION)

export function partsOf(text: string): number {
  let units = 0
  for (const character of text) {
    if (!ONE.has(character) && !TWO.has(character)) return wide(text)
    units += TWO.has(character) ? 2 : 1
  }
  return units <= 160 ? 1 : Math.ceil(units / 153)
}

/** Counts UTF-16 units: the text has a character outside the GSM alphabet. */
function wide(text: string): number {
  return text.length <= 70 ? 1 : Math.ceil(text.length / 67)
}
