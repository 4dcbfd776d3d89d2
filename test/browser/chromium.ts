/** Debian's Chromium, driven by a test. It connects to this machine only. */
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

const path = PATHS.find((one) => existsSync(one))

/** Why no browser is available, or undefined when one is. With `CI=true` a missing browser is an error. */
export function noBrowser(): string | undefined {
  if (path !== undefined) return undefined
  if (process.env['CI'] === 'true') throw new Error("Chromium is missing (Debian's package chromium).")
  return "there is no Chromium on this machine (Debian's package chromium)"
}

export function launchBrowser(): Promise<Browser> {
  // Chromium's own sandbox does not work for root, nor in most containers.
  return chromium.launch({ executablePath: path ?? '', args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}
