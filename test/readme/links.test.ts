/** Every link of the pages leads somewhere, and no page leads out of what is here without saying so. */
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readMarkdown, readProjectFile, ROOT } from './markdown.ts'

describe.each(['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'])('%s', (page) => {
  const { links, sections } = readMarkdown(readProjectFile(page))

  test('has headings that differ, so that each anchor is one place', () => {
    const anchors = sections.map(({ anchor }) => anchor)
    expect(anchors).toEqual([...new Set(anchors)])
  })

  test('has no broken link', () => {
    const broken = links.filter((link) => {
      if (link.startsWith('https://')) return false
      const [path = '', anchor] = link.split('#')
      if (path !== '' && !existsSync(`${ROOT}${path}`)) return true
      if (anchor === undefined) return false
      const target = path === '' ? sections : readMarkdown(readProjectFile(path)).sections
      return !target.some((section) => section.anchor === anchor)
    })
    expect(broken).toEqual([])
  })
})

describe.each(['README.md', 'CONTRIBUTING.md'])('%s', (page) => {
  const text = readProjectFile(page)

  test('names no file that is not here', () => {
    const paths = [...text.matchAll(/`((?:src|test|examples)\/[\w./-]+)`/g)].map(([, path = '']) => path)
    expect(paths.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([])
  })

  test('names no script that package.json does not have', () => {
    const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Readonly<Record<string, string>> }
    const named = [...text.matchAll(/npm (?:run (?:--silent )?([\w:]+)|(start|test))/g)].map(
      ([, run, short]) => run ?? short,
    )
    expect(named.length).toBeGreaterThan(1)
    expect(named.filter((name) => name === undefined || !Object.hasOwn(scripts, name))).toEqual([])
  })
})

test('the README has links to check', () => {
  expect(readMarkdown(readProjectFile('README.md')).links.length).toBeGreaterThan(12)
})
