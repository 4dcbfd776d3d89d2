/** Style sheets are for Vite to import. */
declare module '*.css'
