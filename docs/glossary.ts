/** The glossary, from the comment at the head of `src/public/events.ts`. */
import { anchorOf, readProjectFile } from './markdown.ts'
import type { GeneratedList } from './tables.ts'

const TERM = /^ \* - ([^:]+): (.+)$/
const CONTINUED = /^ \*   (.+)$/

export const GLOSSARY: GeneratedList = {
  page: 'docs/glossary.md',
  under: 'terms',
  items: terms().map(([term, meaning]) => `- <a id="${anchorOf(term)}"></a>**${term}**: ${capitalised(meaning)}`),
}

function terms(): readonly (readonly [term: string, meaning: string])[] {
  const [head = ''] = readProjectFile('src/public/events.ts').split('*/')
  const found: [string, string][] = []
  for (const line of head.split('\n')) {
    const [, term, meaning] = TERM.exec(line) ?? []
    const [, more] = CONTINUED.exec(line) ?? []
    const last = found.at(-1)
    if (term !== undefined && meaning !== undefined) found.push([term, meaning])
    else if (more !== undefined && last !== undefined) last[1] += ` ${more}`
  }
  return found
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/service\.md#events/, '[service.md](service.md#events)')}`
}
