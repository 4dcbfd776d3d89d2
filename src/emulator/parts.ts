/** How many parts a text takes. GSM 03.38 and 03.40; which part is which is a choice of ours, see not-shown.ts. */

const GSM =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
/** These take the room of two. */
const GSM_EXTENSION = '\f^{}\\[~]|€'

const ONE = new Set(GSM)
const TWO = new Set(GSM_EXTENSION)

/** At least 1. */
export function partsOf(text: string): number {
  let units = 0
  for (const character of text) {
    if (!ONE.has(character) && !TWO.has(character)) return wide(text)
    units += TWO.has(character) ? 2 : 1
  }
  return units <= 160 ? 1 : Math.ceil(units / 153)
}

/** UTF-16 units, where a character is outside GSM's alphabet. */
function wide(text: string): number {
  return text.length <= 70 ? 1 : Math.ceil(text.length / 67)
}
