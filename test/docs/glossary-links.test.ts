/** Pages link the first use of a term to the glossary. */
import { describe, expect, test } from 'vitest'
import { withGlossaryLinks } from '../../docs/glossary-links.ts'
import { PAGES, readProjectFile } from '../../docs/markdown.ts'

test.each(PAGES)('%s has the links that `npm run docs:tables` writes', (page) => {
  expect(withGlossaryLinks(page, readProjectFile(page))).toBe(readProjectFile(page))
})

describe('the writer of the links', () => {
  const linked = (text: string): string => withGlossaryLinks('docs/guides/a.md', text)

  test('links the first use only, as the sentence has it, and once more changes nothing', () => {
    const page = linked('Dead letters wait.\nA dead letter waits.\n')
    expect(page).toBe('[Dead letters](../glossary.md#dead-letter) wait.\nA dead letter waits.\n')
    expect(linked(page)).toBe(page)
  })

  test.each([
    ['a heading', '# The spool'],
    ['a table', '| spool |'],
    ['code', 'Set `spool: false`.'],
    ['a block of code', '```ts\nspool\n```'],
    ['a link', 'See [the spool](spool.md).'],
    ['a link that goes on in the next line', 'See [the spool\nof callbacks](spool.md).'],
    ['an item of a generated list', '- <a id="a"></a>`a`: The spool is full.'],
  ])('leaves %s as it is', (_, text) => {
    expect(linked(text)).toBe(text)
  })
})
