/** Browser pages that record every problem that a reader should not meet. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const DESK = { width: 1280, height: 900 }
export const PHONE = { width: 390, height: 844 }

/** Records errors (violations of the page's policy are errors, too), requests to other origins, and failed responses. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const page = await browser.newPage({ viewport: DESK, ...options })
  onTestFinished(() => page.close())
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${page.url()}: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    complaints.push(`${page.url()} opens a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !url.startsWith('data:')) complaints.push(`${page.url()} asks for ${url}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${page.url()}: ${response.status()} for ${response.url()}`)
  })
  return { page, complaints }
}

/** Faults of the layout: the page scrolls sideways. */
export async function layoutFaultsOf(page: Page): Promise<readonly string[]> {
  const scrolls = await page.evaluate<boolean>('document.documentElement.scrollWidth > window.innerWidth')
  return scrolls ? ['it scrolls sideways'] : []
}

/** Serious accessibility violations, and faults of the layout. */
export async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  const results = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })")
  const serious = results.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return [...serious.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`), ...(await layoutFaultsOf(page))]
}
