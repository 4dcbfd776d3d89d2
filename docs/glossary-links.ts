/** Links the first use of a term on a page to the glossary: `npm run docs:tables` writes the links. */
import { dirname, relative } from 'node:path'
import { anchorOf } from './markdown.ts'

const GLOSSARY_PAGE = 'docs/glossary.md'

/** The terms of the glossary that a newcomer may not know, or that mean something else elsewhere, and how sentences use them. */
const LINKED: Readonly<Record<string, RegExp>> = {
  anomaly: /\banomal(?:y|ies)\b/i,
  'back-off': /\bback-off\b/i,
  'dead letter': /\bdead letters?\b/i,
  drain: /\bdrain(?:s|ed|ing)?\b/i,
  identity: /\bidentit(?:y|ies)\b/i,
  'in flight': /\bin flight\b/i,
  lease: /\bleases?\b/i,
  overdue: /\boverdue\b/i,
  'pending send': /\bpending sends?\b/i,
  proof: /\bproofs?\b/i,
  quarantine: /\bquarantine\b/i,
  replay: /\breplay(?:s|ed|ing)?\b/i,
  retention: /\bretention\b/i,
  settled: /\bsettled?\b/i,
  spool: /\bspool\b/i,
}

/** What holds no prose: code, links and pictures, also those that begin or end on another line, and markup. */
const CLOSED = /`[^`]*`|!?\[[^\]]*\]\([^)]*\)|^[^[\]]*\]\([^)]*\)|\[[^\]]*$|<[^>]*>/g

/** @returns The page with its links. Headings, tables, code, and items that begin with an anchor stay as they are. */
export function withGlossaryLinks(page: string, text: string): string {
  if (page === GLOSSARY_PAGE) return text
  const glossary = relative(dirname(page), GLOSSARY_PAGE)
  const missing = new Map(
    Object.entries(LINKED)
      .map(([term, pattern]) => [`(${glossary}#${anchorOf(term)})`, pattern] as const)
      .filter(([target]) => !text.includes(target)),
  )
  let isCode = false
  const lines = text.split('\n').map((line) => {
    if (line.startsWith('```')) isCode = !isCode
    return isCode || /^(?:```|#|\||- <a )/.test(line) ? line : linked(line, missing)
  })
  return lines.join('\n')
}

/** Removes from `missing` what it links. */
function linked(line: string, missing: Map<string, RegExp>): string {
  for (const [target, pattern] of missing) {
    // Closed parts keep their length, so that places stay.
    const found = pattern.exec(line.replaceAll(CLOSED, (part) => ' '.repeat(part.length)))
    if (found === null) continue
    const [term] = found
    line = `${line.slice(0, found.index)}[${term}]${target}${line.slice(found.index + term.length)}`
    missing.delete(target)
  }
  return line
}
