/** The site of the documentation, in a real browser: no error, no dead link, nothing from elsewhere, usable by everybody. */
import { mkdtempSync, rmSync } from 'node:fs'
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
import { DESK, faultsOf, openPage, PHONE } from './watching.ts'

/** Of each page of the documentation, and of the modules of the API. */
const PATHS = [
  ...PAGES.filter((page) => page.startsWith('docs/')).map((page) =>
    page.replace(/^docs\//, '/').replace(/README\.md$/, ''),
  ),
  '/api/',
  '/api/messaging-webhooks.md',
].map((path) => path.replace(/\.md$/, '.html'))

const reason = noBrowser()

describe.skipIf(reason !== undefined)(titleWith(reason, 'the site'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'site-'))
  const server = serveFolder(folder)
  let browser: Browser
  let origin = ''

  beforeAll(async () => {
    const vitepress = join(ROOT, 'node_modules/vitepress/bin/vitepress.js')
    // It fails where a link of a page leads nowhere.
    const built = await runProgram(process.execPath, [vitepress, 'build', 'docs', '--outDir', folder], { cwd: ROOT })
    expect(built.code, built.stderr).toBe(0)
    origin = new URL(await listen(server)).origin
    browser = await launchBrowser()
  }, 300_000)

  afterAll(async () => {
    await browser.close()
    server.close()
    rmSync(folder, { recursive: true })
  })

  test('every page, at the width of a desk and of a phone', { timeout: 900_000 }, async () => {
    const { page, complaints } = await openPage(browser, origin)
    for (const path of PATHS) {
      await page.setViewportSize(DESK)
      await page.goto(`${origin}${path}`)
      complaints.push(...(await faultsOf(page)).map((fault) => `${path} on a desk: ${fault}`))
      await page.setViewportSize(PHONE)
      complaints.push(...(await faultsOf(page)).map((fault) => `${path} on a phone: ${fault}`))
    }
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

  test('a link into the repository leads there', async () => {
    const { page } = await openPage(browser, origin)
    await page.goto(`${origin}/guides/security.html`)
    const link = page.locator('a', { hasText: 'SECURITY.md' })
    expect(await link.getAttribute('href')).toMatch(/^https:\/\/github\.com\/.+\/blob\/main\/SECURITY\.md$/)
  })
})
