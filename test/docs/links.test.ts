/** Every link of the pages resolves, and every section of the sender's rules that the code names exists. */
import { existsSync, globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { PAGES, readMarkdown, readPage, readProjectFile, ROOT, targetOf } from '../../docs/markdown.ts'

const OTHER_PAGES = ['CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'bench/README.md']

describe.each([...PAGES, ...OTHER_PAGES])('%s', (page) => {
  const { links, anchors } = readPage(page)

  test('has unique headings, so that each anchor is unique', () => {
    expect(anchors).toEqual([...new Set(anchors)])
  })

  test('has no broken link', () => {
    const broken = links.filter((link) => {
      const target = targetOf(page, link)
      if (target === undefined) return false
      const { path, anchor } = target
      if (!existsSync(`${ROOT}${path}`)) return true
      return anchor !== undefined && !readPage(path).anchors.includes(anchor)
    })
    expect(broken).toEqual([])
  })

  test('names only existing files', () => {
    const paths = [...readProjectFile(page).matchAll(/`((?:src|test|examples)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    )
    expect(paths.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([])
  })

  test('installs supertest before the first sample that calls `deliver`', () => {
    const [before = '', ...samples] = readProjectFile(page).split(/^```ts$/m)
    if (!samples.some((sample) => /^import \{.*\bdeliver\b.*\} from 'messaging-webhooks\/testing'$/m.test(sample)))
      return
    expect(before).toMatch(/^npm install --save-dev .*\bsupertest\b/m)
  })

  test('names only scripts of package.json', () => {
    const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Readonly<Record<string, string>> }
    const named = [...readProjectFile(page).matchAll(/npm (?:run (?:--silent )?([\w:]+)|(start|test)\b)/g)].map(
      ([, run, short]) => run ?? short ?? '',
    )
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })
})

test('another page links to each page', () => {
  const targets = PAGES.flatMap((page) => readPage(page).links.map((link) => targetOf(page, link)?.path ?? ''))
  expect(PAGES.filter((page) => page !== 'README.md' && !targets.includes(page))).toEqual([])
})

test('the first lines of the README name the format’s owner', () => {
  const [head = ''] = readProjectFile('README.md').split('```')
  for (const word of ['authKey', 'X-Service-Signature: t=', ',v1=']) expect(head).toContain(word)
})

test('the README is short enough to read in a few minutes', () => {
  expect(readProjectFile('README.md').split('\n').length).toBeLessThanOrEqual(111)
})

describe('the hazards', () => {
  /** Each numbered hazard, with the tests that its section links. A line has one number or several, as in `3, 14-17`. */
  const hazards = readProjectFile('docs/hazards.md')
    .split(/^##+ /m)
    .flatMap((section) => {
      const files = [...section.matchAll(/\]\(\.\.\/(test\/hazards\/[\w.-]+)\)/g)].map(([, file = '']) => file)
      return [...section.matchAll(/^- \*\*(\d[\d, -]*)\*\* /gm)]
        .flatMap(([, cell = '']) => numbersIn(cell))
        .map((number) => ({ number, files }))
    })

  test('are numbered without a gap, and a test of their section has each number in its title', () => {
    const numbers = hazards.map(({ number }) => number).toSorted((a, b) => a - b)
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1))
    const untested = hazards.filter(({ number, files }) => !files.some((file) => titledIn(file).includes(number)))
    expect(untested).toEqual([])
  })

  test('include every number in the title of a test, in a section that links the test', () => {
    const files = globSync('test/hazards/*.ts', { cwd: ROOT })
    const titled = files.flatMap((file) => titledIn(file).map((number) => ({ number, file })))
    expect(titled.length).toBeGreaterThan(100)
    const isListed = (wanted: (typeof titled)[number]): boolean =>
      hazards.some(({ number, files }) => number === wanted.number && files.includes(wanted.file))
    expect(titled.filter((one) => !isListed(one))).toEqual([])
  })
})

/** `3, 14-16` is 3, 14, 15 and 16. */
function numbersIn(cell: string): number[] {
  return cell.split(', ').flatMap((part) => {
    const [first = Number.NaN, last = first] = part.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

/** The numbers at the start of the titles of a file's tests, such as `'#92 #93 …'`. */
function titledIn(file: string): number[] {
  const titles = readProjectFile(file).matchAll(/['`]((?:#\d+ )+)/g)
  return [...titles].flatMap(([, numbers = '']) => [...numbers.matchAll(/\d+/g)].map(([number]) => Number(number)))
}

test('references to the sender’s rules in the code name a section of their page', () => {
  const { anchors } = readPage('docs/service.md')
  const sources = globSync('{src,test,examples,bench}/**/*.ts', { cwd: ROOT })
  const named = sources.flatMap((file) =>
    [...readProjectFile(file).matchAll(/[Cc]ontract, service\.md((?:(?:, )?#[\w-]+)+)/g)].flatMap(([, list = '']) =>
      list.split(', ').map((anchor) => ({ file, anchor: anchor.slice(1) })),
    ),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(({ anchor }) => !anchors.includes(anchor))).toEqual([])
  // A quoted section name is not a reference.
  const quoted = sources.filter((file) => readProjectFile(file).includes('ontract, "'))
  expect(quoted).toEqual(['test/docs/links.test.ts'])
})

test('detects a broken link', () => {
  expect(readMarkdown('# A\n[b](#c) <a id="d"></a>')).toMatchObject({ links: ['#c'], anchors: ['a', 'd'] })
})
