/** The documentation site: every link and anchor resolves; in a browser, no error, no outside request, accessible. */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PAGES, ROOT } from '../../docs/markdown.ts'
import { runProgram } from '../support/program.ts'
import { listen } from '../support/receiving.ts'
import { titleWith } from '../support/skipping.ts'
import { launchBrowser, noBrowser } from './chromium.ts'
import { serveFolder } from './static-server.ts'
import { DESK, faultsOf, layoutFaultsOf, openPage, PHONE } from './watching.ts'

/** The address of each page of the documentation and each module of the API. */
const PATHS = [
  ...PAGES.filter((page) => page.startsWith('docs/')).map((page) =>
    page.replace(/^docs\//, '/').replace(/README\.md$/, ''),
  ),
  '/api/',
  '/api/messaging-webhooks.md',
].map((path) => path.replace(/\.md$/, '.html'))

/** One page of each layout: on a phone, everything around the text is the same on the others. */
const ON_A_PHONE: ReadonlySet<string> = new Set(['/', '/guides/security.html', '/api/messaging-webhooks.html'])

const folder = mkdtempSync(join(tmpdir(), 'site-'))

beforeAll(async () => {
  // The build fails if an exported symbol has no comment, or a link in a comment or a page is broken.
  const built = await runProgram('npm', ['run', '--silent', 'docs:build', '--', '--outDir', folder], { cwd: ROOT })
  expect(built.code, `${built.stdout}${built.stderr}`).toBe(0)
}, 300_000)

afterAll(() => rmSync(folder, { recursive: true }))

test('every link resolves to a page and its anchor', () => {
  const site = new Map(
    globSync('**/*.html', { cwd: folder }).map((path) => {
      const html = readFileSync(join(folder, path), 'utf8')
      const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
      return [`/${path}`, { ids, links: [...html.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, link = '']) => link) }]
    }),
  )
  expect(site.size).toBeGreaterThan(PATHS.length)
  const origin = 'http://localhost'
  const broken = [...site].flatMap(([path, { links }]) =>
    links
      .map((link) => new URL(link, `${origin}${path}`))
      .filter((url) => {
        if (url.origin !== origin || url.pathname === '/openapi.json') return false
        const target = site.get(url.pathname.endsWith('/') ? `${url.pathname}index.html` : url.pathname)
        return target === undefined || (url.hash !== '' && !target.ids.has(decodeURIComponent(url.hash.slice(1))))
      })
      .map((url) => `${path}: ${url.pathname}${url.hash}`),
  )
  expect(broken).toEqual([])
  expect(existsSync(join(folder, 'openapi.json'))).toBe(true)
})

const reason = noBrowser()

describe.skipIf(reason !== undefined)(titleWith(reason, 'the site'), () => {
  const server = serveFolder(folder)
  let browser: Browser
  let origin = ''

  beforeAll(async () => {
    origin = new URL(await listen(server)).origin
    browser = await launchBrowser()
  })

  afterAll(async () => {
    await browser.close()
    server.close()
  })

  test('every page, at the width of a desktop and of a phone', { timeout: 900_000 }, async () => {
    const { page, complaints } = await openPage(browser, origin)
    for (const path of PATHS) {
      await page.setViewportSize(DESK)
      await page.goto(`${origin}${path}`)
      // Until its scripts have run, the page is not complete: they name this button.
      await page.locator('.VPSwitchAppearance:not([title=""])').first().waitFor({ state: 'attached' })
      complaints.push(...(await faultsOf(page)).map((fault) => `${path} on a desk: ${fault}`))
      await page.setViewportSize(PHONE)
      const onPhone = ON_A_PHONE.has(path) ? await faultsOf(page) : await layoutFaultsOf(page)
      complaints.push(...onPhone.map((fault) => `${path} on a phone: ${fault}`))
    }
    expect(PATHS).toEqual(expect.arrayContaining([...ON_A_PHONE]))
    expect(complaints).toEqual([])
  })

  test('the search finds a page without the network', { timeout: 120_000 }, async () => {
    const { page, complaints } = await openPage(browser, origin)
    await page.goto(`${origin}/`)
    await page.locator('.VPNavBarSearch button').click()
    await page.locator('.VPLocalSearchBox input').fill('rotating a pair')
    await page.locator('.VPLocalSearchBox .result').first().waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toContain('/guides/projects')
    expect(complaints).toEqual([])
  })

  test('a link into the repository resolves', async () => {
    const { page } = await openPage(browser, origin)
    await page.goto(`${origin}/guides/security.html`)
    const link = page.locator('a', { hasText: 'SECURITY.md' })
    expect(await link.getAttribute('href')).toMatch(/^https:\/\/github\.com\/.+\/blob\/main\/SECURITY\.md$/)
  })
})
