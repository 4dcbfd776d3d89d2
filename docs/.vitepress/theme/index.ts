/** VitePress's own theme, made legible to everybody. */
import DefaultTheme from 'vitepress/theme'
// @ts-expect-error A style sheet is Vite's to import.
import './legible.css'

// VitePress loads a theme by its default export.
export default DefaultTheme
